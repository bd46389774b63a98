// Compositions on both stores, with real servers; what is published is read back as the dataplane reads it.
import t, { type Test } from 'tap';
import type { StoreOptions } from '../../../src/config/table/store-options.js';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import {
  createJob,
  jobChangeToAdd,
  PUBLICATION_JOBS_PREFIX,
} from '../../../src/control-plane/compositions/publication.js';
import { limits } from '../../../src/shared/limits.js';
import { compileUserConfig } from '../../../src/user-config/compile-config.js';
import type { RecordStore } from '../../../src/store/record-store.js';
import { decodeUserConfig } from '../../../src/user-config/user-config-schema.js';
import { backendFor } from '../../support/deployment.js';
import type { McpBackend } from '../../support/mcp-backend.js';
import { recordsUnder } from '../../support/stored-records.js';
import { until } from '../../support/until.js';
import { setStage, stores, type Stage } from '../stage.js';

const SHORT_MS = 20;
const RACERS = 12;
const RACE_ROUNDS = 4;

/** What a subject has in the dataplane: the tools that may be called, by virtual host and backend. */
type Published = Record<string, Record<string, string[]>>;

async function publishedTo(subject: string, records: RecordStore): Promise<Published | undefined> {
  const bytes = await records.read({ space: 'user-configs', key: subject });
  if (bytes === undefined) return undefined;
  const decoding = decodeUserConfig(bytes);
  if (!decoding.ok) throw new Error(decoding.issues);
  const { virtualHosts } = compileUserConfig(decoding.config, 'plain-text-or-tls');
  return mapValues(virtualHosts, ({ backends }) =>
    mapValues(backends, ({ allowedNames }) => [...(allowedNames.tools ?? ['anything'])]),
  );
}

function mapValues<From, To>(map: ReadonlyMap<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Array.from(map, ([key, value]) => [key, change(value)]));
}

async function configText(records: RecordStore, subject: string): Promise<string | undefined> {
  return (await records.read({ space: 'user-configs', key: subject }))?.toString();
}

async function writeConfig(records: RecordStore, subject: string, text: string | undefined): Promise<void> {
  const key = { space: 'user-configs', key: subject } as const;
  const value = text === undefined ? undefined : Buffer.from(text);
  if (!(await records.swap([{ ...key, expected: await records.read(key), value }]))) throw new Error('not written');
}

async function expectFault(t: Test, promise: Promise<unknown>, code: string, member?: string): Promise<void> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  t.ok(error instanceof ControlPlaneFault, String(error));
  t.match(error, { code });
  if (member !== undefined && error instanceof Error) t.equal(error.message.split(' ', 1)[0], member);
}

interface Scene extends Stage {
  readonly files: McpBackend;
  readonly mail: McpBackend;
}

/** Sets up two registered servers, `files` and `mail`. */
async function setScene(t: Test, options: StoreOptions, settings = {}): Promise<Scene> {
  const stage = await setStage(t, options, settings);
  const files = await backendFor(t, { tools: ['read', 'write', 'list'] });
  const mail = await backendFor(t, { tools: ['send', 'fetch'] });
  await stage.registry.register({ name: 'files', url: files.url });
  await stage.registry.register({ name: 'mail', url: mail.url });
  return { ...stage, files, mail };
}

const DESK = { name: 'Desk', servers: [{ name: 'files', tools: ['read', 'list'] }] };

t.jobs = 2;

for (const [kind, optionsOf] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    t.test('a composition is published as soon as it is created, changed or removed', async (t) => {
      const { compositions, records, files } = await setScene(t, await optionsOf(t));
      const created = await compositions.create(DESK, 'alice');
      t.match(created, {
        ...DESK,
        id: /^[0-9a-f]{32}$/,
        description: '',
        subjects: ['alice'],
        missingTools: { length: 0 },
      });
      t.equal(created.createdAt, created.updatedAt);
      t.same(await publishedTo('alice', records), { [created.id]: { files: ['read', 'list'] } });
      t.same(JSON.parse((await configText(records, 'alice')) ?? ''), {
        virtual_hosts: {
          [created.id]: {
            backends: {
              files: {
                name: 'files',
                url: files.url,
                transport: 'STREAMABLEHTTP',
                passthrough_headers: [],
                allowed_tool_names: ['read', 'list'],
                allowed_resource_names: [],
                allowed_prompt_names: [],
                exposes: ['tools'],
              },
            },
          },
        },
      });

      const changed = await compositions.replace(
        'desk',
        {
          name: 'Office',
          description: 'for two',
          servers: [...DESK.servers, { name: 'MAIL', tools: ['send'] }],
          subjects: ['bob', 'carol'],
        },
        'alice',
      );
      t.match(changed, { id: created.id, name: 'Office', createdAt: created.createdAt, description: 'for two' });
      t.same(changed.servers[1], { name: 'mail', tools: ['send'] });
      t.equal(await publishedTo('alice', records), undefined, 'a subject that was taken out has nothing left');
      const both = { [created.id]: { files: ['read', 'list'], mail: ['send'] } };
      for (const subject of ['bob', 'carol']) t.same(await publishedTo(subject, records), both);
      t.equal(await compositions.find('desk'), undefined, 'the old name is free');
      t.same(
        (await compositions.replace(created.id, { ...DESK }, 'alice')).subjects,
        ['bob', 'carol'],
        'subjects stay',
      );

      await compositions.remove(created.id);
      for (const subject of ['bob', 'carol']) t.equal(await publishedTo(subject, records), undefined);
      t.same((await compositions.list()).items, []);
      for (const subject of ['alice', 'bob', 'carol']) {
        t.equal(await records.read({ space: 'publications', key: subject }), undefined);
      }
      for (const prefix of ['compositions/', 'composition-names/', PUBLICATION_JOBS_PREFIX]) {
        t.same(await recordsUnder(records, prefix), [], prefix);
      }
    });

    t.test('a composition is found by id and by name in any case, and listed by name', async (t) => {
      const { compositions } = await setScene(t, await optionsOf(t));
      const desk = await compositions.create(DESK, 'alice');
      const bench = await compositions.create({ name: 'bench', servers: [] }, 'alice');
      t.same((await compositions.list()).items, [bench, desk]);
      for (const reference of [desk.id, desk.id.toUpperCase(), 'DESK', 'desk']) {
        t.same(await compositions.find(reference), desk, reference);
      }
      for (const reference of ['', 'des', `${desk.id}0`, 'a/b', '\ud800', 'x'.repeat(5_000)]) {
        t.equal(await compositions.find(reference), undefined, reference.slice(0, 20));
      }
    });

    t.test('a change in the registry is published when it has been made', async (t) => {
      const { compositions, registry, records, files } = await setScene(t, await optionsOf(t));
      const subjects = Array.from({ length: 40 }, (_, n) => `subject ${n}`);
      const servers = [...DESK.servers, { name: 'mail', tools: ['send'] }];
      const { id } = await compositions.create({ name: 'Desk', servers, subjects }, 'alice');
      const isServedTo = async (wanted: readonly string[]): Promise<void> => {
        for (const subject of subjects) {
          t.same(Object.keys((await publishedTo(subject, records))?.[id] ?? {}).sort(), wanted, subject);
        }
      };
      await isServedTo(['files', 'mail']);
      await registry.replace('files', { name: 'files', url: files.url, enabled: false });
      await isServedTo(['mail']);
      await registry.replace('files', { name: 'archive', url: files.url, enabled: true });
      await isServedTo(['archive', 'mail']);
      await registry.remove('mail');
      await isServedTo(['archive']);
      t.same(await recordsUnder(records, PUBLICATION_JOBS_PREFIX), [], 'nothing is left to do');
    });

    t.test('nobody fills a user config so that another maker is refused', async (t) => {
      const { compositions, records } = await setScene(t, await optionsOf(t));
      const large = Array.from({ length: 1_000 }, (_, n) => `${n}`.padStart(100, 'x'));
      const made: string[] = [];
      for (let n = 0; ; n++) {
        const input = {
          name: `m${n}`,
          servers: [{ name: 'files', tools: large }],
          subjects: ['alice'],
          isForced: true,
        };
        try {
          made.push((await compositions.create(input, 'mallory')).id);
        } catch (error) {
          t.match(error, {
            code: 'invalid',
            message: /^subjects\.0 .*would fill \d+ bytes of this user's config/,
          });
          break;
        }
        if (n === 10) break;
      }
      t.ok(made.length > 0 && made.length < 10, `${made.length} were made`);
      const { id } = await compositions.create({ ...DESK, subjects: ['alice'] }, 'admin');
      t.ok((await publishedTo('alice', records))?.[id], 'an administrator still has room');
    });

    t.test('a publication that one control plane left undone is finished by another', async (t) => {
      const options = await optionsOf(t);
      const scene = await setScene(t, options);
      const { records } = scene;
      const { id } = await scene.compositions.create({ ...DESK, subjects: ['alice', 'bob'] }, 'admin');
      // As if the process had ended between the change and its publication: the job exists, the configs are as before.
      const job = createJob({ subjects: ['alice', 'bob'] });
      await records.swap([jobChangeToAdd(job)]);
      for (const subject of ['alice', 'bob']) await writeConfig(records, subject, undefined);
      const later = await setStage(t, options);
      later.compositions.start();
      for (const subject of ['alice', 'bob']) {
        await until(async () => (await publishedTo(subject, records))?.[id] !== undefined, subject);
      }
      await until(
        async () => (await recordsUnder(records, PUBLICATION_JOBS_PREFIX)).length === 0,
        'the job to be done',
      );
    });

    t.test('an impossible composition is refused, and nothing is changed', async (t) => {
      const { compositions, records } = await setScene(t, await optionsOf(t));
      const desk = await compositions.create(DESK, 'alice');
      await compositions.create({ ...DESK, name: 'other' }, 'alice');
      const before = await publishedTo('alice', records);
      const broken = '{"virtual_hosts":7}';
      await writeConfig(records, 'mallory', broken);

      await expectFault(t, compositions.create({ ...DESK, name: 'dESK' }, 'alice'), 'name-taken');
      await expectFault(t, compositions.replace(desk.id, { ...DESK, name: 'OTHER' }, 'alice'), 'name-taken');
      await expectFault(t, compositions.replace('nothing', DESK, 'alice'), 'not-found');
      await expectFault(t, compositions.remove('nothing'), 'not-found');
      const tools = ['read'];
      const rows: readonly (readonly [member: string, input: object])[] = [
        ['name', { name: '' }],
        ['servers.0.tools', { servers: [{ name: 'files', tools: [] }] }],
        [
          'servers.1.name',
          {
            servers: [
              { name: 'files', tools },
              { name: 'unknown', tools },
            ],
          },
        ],
        [
          'servers.1.name',
          {
            servers: [
              { name: 'files', tools },
              { name: 'FILES', tools },
            ],
          },
        ],
        ['servers', { servers: [{ name: 'files', tools: ['x'.repeat(limits.compositionBytesMax)] }], isForced: true }],
        ['subjects.1', { subjects: ['alice', 'mallory'] }],
      ];
      for (const [member, input] of rows) {
        await expectFault(t, compositions.create({ ...DESK, name: 'new', ...input }, 'alice'), 'invalid', member);
        await expectFault(t, compositions.replace(desk.id, { ...DESK, ...input }, 'alice'), 'invalid', member);
      }
      t.equal((await compositions.list()).items.length, 2);
      t.same(await publishedTo('alice', records), before);
      t.equal(await configText(records, 'mallory'), broken);
    });

    t.test('publishing leaves the rest of a user config alone', async (t) => {
      const { compositions, records } = await setScene(t, await optionsOf(t));
      const foreign = '{ "virtual_hosts":{"own" : {"backends":{}, "n":12345678901234567890}}, "more":1.0 }';
      await writeConfig(records, 'alice', foreign);
      const desk = await compositions.create(DESK, 'alice');
      const published = (await configText(records, 'alice')) ?? '';
      t.ok(published.includes('"own" : {"backends":{}, "n":12345678901234567890}') && published.includes(desk.id));
      await compositions.remove(desk.id);
      t.equal(
        await configText(records, 'alice'),
        '{ "virtual_hosts":{"own" : {"backends":{}, "n":12345678901234567890}}, "more":1.0 }',
      );
    });

    t.test('a composition follows its servers', async (t) => {
      const scene = await setScene(t, await optionsOf(t));
      const { compositions, registry, records, files } = scene;
      const desk = await compositions.create(
        {
          name: 'desk',
          servers: [
            { name: 'files', tools: ['read', 'burn'] },
            { name: 'mail', tools: ['send'] },
          ],
          isForced: true,
        },
        'alice',
      );
      t.same(desk.missingTools, [{ server: 'files', tool: 'burn' }], 'a tool that is not there is told');
      compositions.start();
      const isPublished = async (expected: Published[string]): Promise<void> => {
        const text = JSON.stringify({ [desk.id]: expected });
        await until(async () => JSON.stringify(await publishedTo('alice', records)) === text, text);
      };
      await isPublished({ files: ['read', 'burn'], mail: ['send'] });

      await registry.replace('files', { name: 'archive', url: files.url });
      await isPublished({ archive: ['read', 'burn'], mail: ['send'] });
      t.same((await compositions.find('desk'))?.servers[0], { name: 'archive', tools: ['read', 'burn'] });

      scene.mail.raw.stopListening();
      scene.mail.raw.closeConnections();
      await registry.refresh('mail');
      t.same(
        await compositions.find('desk').then((found) => found?.missingTools.length),
        1,
        'its tools are known still',
      );
      await isPublished({ archive: ['read', 'burn'], mail: ['send'] });

      await registry.replace('archive', { name: 'archive', url: files.url, enabled: false });
      await isPublished({ mail: ['send'] });
      t.same((await compositions.find('desk'))?.missingTools, [
        { server: 'archive', tool: 'read' },
        { server: 'archive', tool: 'burn' },
      ]);
      await registry.replace('archive', { name: 'archive', url: files.url, enabled: true });
      await isPublished({ archive: ['read', 'burn'], mail: ['send'] });

      await registry.remove('mail');
      await isPublished({ archive: ['read', 'burn'] });
      const found = await compositions.find('desk');
      t.same(found?.servers[1], { name: 'mail', tools: ['send'] }, 'the composition keeps it');
      t.same(found?.missingTools.at(-1), { server: 'mail', tool: 'send' });
      const described = { ...desk, description: 'kept', servers: found?.servers ?? [] };
      t.same(
        (await compositions.replace('desk', described, 'alice')).servers,
        found?.servers,
        'also when it is changed',
      );

      const again = await backendFor(t, { tools: ['send'] });
      await registry.register({ name: 'Mail', url: again.url });
      await isPublished({ archive: ['read', 'burn'], Mail: ['send'] });
    });

    t.test('patterns expand to the server’s current tools, and follow them', async (t) => {
      const { compositions, registry, records } = await setStage(t, await optionsOf(t));
      const tools = ['read_file', 'write_file', 'read_dir'];
      const files = await backendFor(t, { tools });
      await registry.register({ name: 'files', url: files.url });
      const other = await backendFor(t, { tools: ['send'] });
      await registry.register({ name: 'mail', url: other.url });
      const servers = [
        { name: 'files', tools: ['write_file', 'read_*'] },
        { name: 'mail', tools: '*' },
      ];
      const desk = await compositions.create({ name: 'desk', servers }, 'alice');
      const published = async () => (await publishedTo('alice', records))?.[desk.id];
      t.strictSame(desk.servers[1]?.tools, ['*']);
      t.strictSame(desk.missingTools, []);
      t.strictSame(await published(), { files: ['write_file', 'read_file', 'read_dir'], mail: ['anything'] });
      const host = await compositions.findHost('desk', 'alice');
      const mail = host?.backends.get('mail');
      t.match(
        mail,
        { allowed_tool_names: { length: 0 }, exposes: ['tools'] },
        'all tools, also those not seen here, and nothing else',
      );
      t.strictSame(host?.backends.get('files')?.allowed_tool_names, ['write_file', 'read_file', 'read_dir']);

      // Changes of a server take effect through a refresh or a health check, and are published once that has responded.
      tools.splice(0, 1, 'read_link', 'unlink');
      await registry.refresh('files');
      t.strictSame(await published(), { files: ['write_file', 'read_link', 'read_dir'], mail: ['anything'] });
      tools.splice(0, tools.length, 'unlink');
      await registry.refresh('files');
      t.strictSame(await published(), { files: ['write_file'], mail: ['anything'] });
      t.strictSame((await compositions.find('desk'))?.missingTools, [
        { server: 'files', tool: 'write_file' },
        { server: 'files', tool: 'read_*' },
      ]);

      const only = { name: 'only', servers: [{ name: 'files', tools: ['read_*'] }] };
      await expectFault(t, compositions.create(only, 'bob'), 'invalid', 'servers.0.tools.0');
      const empty = await compositions.create({ ...only, isForced: true }, 'bob');
      t.strictSame((await publishedTo('bob', records))?.[empty.id], {}, 'nothing, and never everything');
      tools.push('read_me');
      await registry.refresh('files');
      t.strictSame((await publishedTo('bob', records))?.[empty.id], { files: ['read_me'] });
    });

    t.test('a curated tool that the server does not have is told, once that is known', async (t) => {
      const { compositions, registry } = await setScene(t, await optionsOf(t));
      const late = await backendFor(t, { tools: ['a'] });
      late.raw.stopListening();
      await registry.register({ name: 'late', url: late.url });
      const curation = { tools: { a: { description: 'A' }, aa: { description: 'A slip' } } };
      const servers = [{ name: 'late', tools: ['*'], curation }];
      const desk = await compositions.create({ name: 'desk', servers }, 'alice');
      t.same(desk.missingTools, [{ server: 'late', tool: '*' }]);
      await late.raw.listenAgain();
      await registry.refresh('late');
      t.same((await compositions.find('desk'))?.missingTools, [{ server: 'late', tool: 'aa' }]);
    });

    t.test('a server that was never reached is not published until it is', async (t) => {
      const { compositions, registry, records } = await setScene(t, await optionsOf(t));
      const late = await backendFor(t, { tools: ['a'] });
      late.raw.stopListening();
      await registry.register({ name: 'late', url: late.url });
      const desk = await compositions.create({ name: 'desk', servers: [{ name: 'late', tools: ['a'] }] }, 'alice');
      t.same(desk.missingTools, [{ server: 'late', tool: 'a' }]);
      t.same(await publishedTo('alice', records), { [desk.id]: {} });
      compositions.start();
      await late.raw.listenAgain();
      await registry.refresh('late');
      await until(async () => (await publishedTo('alice', records))?.[desk.id]?.['late'] !== undefined, 'the server');
      t.same((await compositions.find('desk'))?.missingTools, []);
    });

    t.test('a server that each user connects is published before any probe was let in', async (t) => {
      const { compositions, registry, records } = await setScene(t, await optionsOf(t));
      const locked = await backendFor(t, { tools: ['a'] });
      const auth = { type: 'oauth2-user' } as const;
      t.match(await registry.register({ name: 'locked', url: locked.url, auth }), {
        status: 'inactive',
        lastSeen: null,
      });
      const curation = { tools: { a: { description: 'A' } } };
      const servers = [{ name: 'locked', tools: ['a'], curation }];
      const desk = await compositions.create({ name: 'desk', servers }, 'alice');
      t.same(await publishedTo('alice', records), { [desk.id]: { locked: ['a'] } });
      t.same(desk.missingTools, [{ server: 'locked', tool: 'a' }], 'nobody knows yet');
      await registry.replace('locked', { name: 'locked', url: locked.url, auth, enabled: false });
      compositions.start();
      await until(async () => (await publishedTo('alice', records))?.[desk.id]?.['locked'] === undefined, 'its end');
    });

    t.test('the composition’s own endpoint serves what is published, to its subjects alone', async (t) => {
      const { compositions } = await setScene(t, await optionsOf(t));
      const desk = await compositions.create(DESK, 'alice');
      const host = await compositions.findHost('desk', 'alice');
      t.equal(host?.id, desk.id);
      t.same(host?.backends.get('files')?.allowed_tool_names, ['read', 'list']);
      t.equal(await compositions.findHost(desk.id, 'bob'), undefined);
      t.equal(await compositions.findHost('nothing', 'alice'), undefined);
    });

    t.test('publications that the store loses are restored, at the start and from time to time', async (t) => {
      const options = await optionsOf(t);
      const scene = await setScene(t, options);
      const { records } = scene;
      const desk = await scene.compositions.create({ ...DESK, subjects: ['alice', 'bob'] }, 'alice');
      await writeConfig(records, 'alice', undefined);
      const later = await setStage(t, options, { repairIntervalMs: SHORT_MS });
      t.equal(await publishedTo('alice', records), undefined);
      later.compositions.start();
      const isThere = async (subject: string): Promise<boolean> =>
        (await publishedTo(subject, records))?.[desk.id] !== undefined;
      await until(() => isThere('alice'), 'the repair at the start');
      await writeConfig(records, 'bob', '{"virtual_hosts":{}}');
      await until(() => isThere('bob'), 'the repair on the timer');

      // A publisher that ended after it changed the composition, and before it changed the user configs.
      const [record] = await recordsUnder(records, 'compositions/');
      const key = { space: 'records', key: record?.key ?? '' } as const;
      const job = createJob({ subjects: ['alice', 'bob'] });
      await records.swap([{ ...key, expected: record?.value, value: undefined, isLogged: true }, jobChangeToAdd(job)]);
      await until(
        async () => !(await isThere('alice')) && !(await isThere('bob')),
        'what nobody wants to be taken out',
      );
      await later.compositions.stop();
    });

    t.test('a broken user config is left alone, reported once, and published to once it is repaired', async (t) => {
      const scene = await setScene(t, await optionsOf(t), { repairIntervalMs: SHORT_MS });
      const { records } = scene;
      const desk = await scene.compositions.create(DESK, 'alice');
      await writeConfig(records, 'alice', 'broken');
      scene.compositions.start();
      const told = (): number => scene.lines.filter((line) => line.includes('cannot be published')).length;
      await until(() => told() > 0, 'the log to say so');
      const bob = await scene.compositions.create({ ...DESK, name: 'bob', subjects: ['bob'] }, 'alice');
      t.ok((await publishedTo('bob', records))?.[bob.id], 'others are not kept waiting');
      t.equal(await configText(records, 'alice'), 'broken');
      t.equal(told(), 1);
      t.notMatch(scene.lines.join(), /alice/, 'the log has no subject');
      await writeConfig(records, 'alice', undefined);
      await until(async () => (await publishedTo('alice', records))?.[desk.id] !== undefined, 'the publication');
    });

    t.test('two publishers on one subject lose nothing and leave nothing', async (t) => {
      const options = await optionsOf(t);
      const one = await setScene(t, options);
      const { records } = one;
      const other = await setStage(t, options);
      const foreign = '"own":{"backends":{}}';
      await writeConfig(records, 'alice', `{"virtual_hosts":{${foreign}}}`);
      one.compositions.start();
      other.compositions.start();
      const stages = [one, other];
      for (let round = 0; round < RACE_ROUNDS; round++) {
        const names = Array.from({ length: RACERS }, (_, index) => `c${index}`);
        const made = await Promise.all(
          names.map((name, index) => stages[index % 2]!.compositions.create({ ...DESK, name }, 'alice')),
        );
        const published = Object.keys((await publishedTo('alice', records)) ?? {}).sort();
        t.same(published, ['own', ...made.map(({ id }) => id)].sort(), 'each is there when its creation has resolved');

        // One publisher removes compositions while the other changes their neighbours.
        await Promise.all(
          made.map(({ id }, index) =>
            index % 3 === 0
              ? other.compositions.remove(id)
              : one.compositions.replace(
                  id,
                  { name: `d${index}`, servers: [{ name: 'mail', tools: ['send'] }] },
                  'alice',
                ),
          ),
        );
        const left = made.filter((_, index) => index % 3 !== 0).map(({ id }) => id);
        const after = await publishedTo('alice', records);
        t.same(Object.keys(after ?? {}).sort(), ['own', ...left].sort());
        for (const id of left) t.same(after?.[id], { mail: ['send'] });
        await Promise.all(left.map((id, index) => stages[index % 2]!.compositions.remove(id)));
        t.equal(await configText(records, 'alice'), `{"virtual_hosts":{${foreign}}}`);
      }
      t.equal(await records.read({ space: 'publications', key: 'alice' }), undefined);
      t.same(await recordsUnder(records, PUBLICATION_JOBS_PREFIX), []);
    });

    t.test('of many simultaneous compositions with one name exactly one is created', async (t) => {
      const options = await optionsOf(t);
      const scene = await setScene(t, options);
      const { records } = scene;
      const stages = [scene, await setStage(t, options)];
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) =>
          stages[index % 2]!.compositions.create({ ...DESK, subjects: [`s${index}`] }, 'x'),
        ),
      );
      const faults = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
      t.equal(faults.length, 9);
      for (const fault of faults) t.match(fault, { code: 'name-taken' });
      const [only, ...others] = (await stages[0]!.compositions.list()).items;
      t.same(others, []);
      for (let index = 0; index < 10; index++) {
        const isOwner = only?.subjects[0] === `s${index}`;
        t.equal((await publishedTo(`s${index}`, records)) !== undefined, isOwner, 'nobody else has anything');
      }
    });
  });
}
