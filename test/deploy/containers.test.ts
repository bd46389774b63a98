// The image and compose.yaml: every variable in them is an option with a valid value, and they agree with the program and with each other.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { limits } from '../../src/shared/limits.js';
import { environmentOf, MOUNTED, planes, root } from './planes.js';

const containerfile = readFileSync(join(root, 'deploy', 'container', 'Containerfile'), 'utf8');

t.test('the image is built from existing files', async (t) => {
  const copied = [...containerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, words = '']) =>
    words.split(' '),
  );
  t.ok(copied.includes('src') && copied.includes('package-lock.json'));
  for (const path of copied) t.ok(existsSync(join(root, path)), path);
  const sent = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  for (const path of copied) t.ok(sent.includes(`!${path.split('/')[0]}`), `${path} is sent to the builder`);
  t.ok(sent.includes('*'), 'and nothing else, as keys that lie about');
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
  const versions = [...containerfile.matchAll(/^FROM docker\.io\/library\/node:(\d+)/gm)].map(([, version]) => version);
  t.equal(versions.length, 2);
  for (const version of versions) t.ok(engines.node.startsWith(`>=${version}.`), `Node.js ${version}`);
});

t.test('the variables of the image are options', async (t) => {
  const variables = [...containerfile.matchAll(/^(?:ENV)? .*?(SWITCHYARD_\w+)=(\S+)/gm)];
  const environment = Object.fromEntries(variables.map(([, name = '', value = '']) => [name, value]));
  t.equal(Object.keys(environment).length, 3);
  t.same(planes[0].faults([], environment), []);
  const [, kept] = /install -d -o 65532 .* (\S+)$/m.exec(containerfile) ?? [];
  t.match(
    planes[0].load([], environment).store,
    { kind: 'embedded', path: `${kept}/store` },
    'where a volume is meant to be',
  );
});

interface ComposeService {
  readonly image: string;
  readonly command: readonly string[];
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
  readonly stop_grace_period?: string;
}

t.test(
  'compose.yaml: the variables are options, their files are mounted, and ports are open on the machine only',
  async (t) => {
    const place = join(root, 'deploy', 'container');
    const text = readFileSync(join(place, 'compose.yaml'), 'utf8');
    const { services } = parse(text, { merge: true }) as { services: Readonly<Record<string, ComposeService>> };
    t.same(Object.keys(services).sort(), ['control-plane', 'dataplane', 'redis']);
    for (const { command, faults, load } of planes) {
      const service = services[command]!;
      t.same(service.command, [command]);
      t.equal(join(place, service.build?.context ?? '', service.build?.dockerfile ?? ''), join(place, 'Containerfile'));
      const environment = environmentOf(t, service.environment ?? {});
      t.same(faults([], environment), []);
      t.not(faults([], { ...environment, SWITCHYARD_REDIS_MODE: 'plain' }).length, 0, 'others would be told');
      const options = load([], environment);
      t.match(options.store, { kind: 'redis', location: { host: 'redis' } });
      for (const path of Object.values(service.environment ?? {}).filter((each) => each.startsWith(MOUNTED)))
        t.ok(
          service.volumes.some((volume) => volume.endsWith(`:${path}:ro`)),
          path,
        );
      const port = service.environment?.['SWITCHYARD_ADDRESS']?.split(':')[1] ?? '';
      t.same(service.ports, [`127.0.0.1:${port}:${port}`]);
      const graceMs = Number(service.stop_grace_period?.replace(/s$/, '')) * 1_000;
      t.ok(graceMs > options.drainTimeoutMs + limits.oneWayRequestMsMax, 'nobody is killed while it drains');
      t.notMatch(service.volumes.join(), /token\.key/, 'what signs tokens is not in a container that serves');
    }
    const admin = services['control-plane']?.environment?.['SWITCHYARD_DATAPLANE_ADMIN_ADDRESS'];
    t.equal(admin?.split(':')[1], services['dataplane']?.environment?.['SWITCHYARD_ADMIN_ADDRESS']?.split(':')[1]);
  },
);
