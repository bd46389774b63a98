// The Kubernetes manifests and the image: a cluster accepts them, every variable in them is an option with a valid value, and they agree
// with the program and with each other.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigMap, Service } from 'kubernetes-models/v1';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import t, { type Test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { controlPlaneOptions, dataplaneOptions } from '../../src/config/dataplane-options.js';
import { limits } from '../../src/shared/limits.js';
import { createCertificates } from '../support/certificates.js';
import { createKeyPair } from '../support/keys.js';
import { optionLoader } from '../config/option-loader.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const MOUNTED = '/etc/switchyard/';

/** Each class checks its instances against the schema of their kind. */
const kinds = { ConfigMap, Deployment, NetworkPolicy, PodDisruptionBudget, Service };
type Kind = keyof typeof kinds;

interface Manifest {
  readonly kind: Kind;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

function manifestsOf(file: string): Manifest[] {
  const documents = parseAllDocuments(readFileSync(join(root, 'deploy', 'kubernetes', file), 'utf8'));
  return documents.map((document) => document.toJS() as Manifest);
}

function only(manifests: readonly Manifest[], kind: Kind): Manifest {
  const [found, ...others] = manifests.filter((each) => each.kind === kind);
  if (found === undefined || others.length > 0) throw new Error(`there should be one ${kind}`);
  return found;
}

function podOf(manifests: readonly Manifest[]) {
  const { spec } = only(manifests, 'Deployment') as unknown as IDeployment;
  const pod = spec?.template.spec;
  const [container] = pod?.containers ?? [];
  if (pod === undefined || container === undefined) throw new Error('a deployment has a container');
  return { pod, container };
}

/** The pod's environment variables, with existing files in place of mounted ones. */
function environmentOf(t: Test, manifests: readonly Manifest[]): NodeJS.ProcessEnv {
  const folder = createScratchDirectory(t);
  const contents: Readonly<Record<string, string>> = {
    '.pub': createKeyPair(t).publicKeyPem,
    '.crt': createCertificates(t).authority.certificate,
  };
  const { data = {} } = only(manifests, 'ConfigMap');
  const present = Object.entries(data).map(([name, value]): [string, string] => {
    if (!value.startsWith(MOUNTED)) return [name, value];
    const path = join(folder, value.slice(MOUNTED.length));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents[extname(value)] ?? 'a secret');
    return [name, path];
  });
  return Object.fromEntries(present);
}

const planes = [
  { file: 'dataplane.yaml', command: 'dataplane', ...optionLoader('dataplane', dataplaneOptions) },
  { file: 'control-plane.yaml', command: 'control-plane', ...optionLoader('control-plane', controlPlaneOptions) },
] as const;

t.test('every manifest is accepted by a cluster', async (t) => {
  t.same(readdirSync(join(root, 'deploy', 'kubernetes')).sort(), planes.map(({ file }) => file).sort());
  for (const { file } of planes) {
    for (const manifest of manifestsOf(file)) {
      const Model = kinds[manifest.kind] as new (data: unknown) => { validate(): void };
      t.doesNotThrow(() => new Model(manifest).validate(), `${file}: ${manifest.kind} ${manifest.metadata.name}`);
      t.throws(() => new Model({ ...manifest, metadata: 7 }).validate(), 'and others are not');
    }
  }
});

for (const { file, command, faults, load } of planes) {
  t.test(`${file}: the variables are options, and their values are right`, async (t) => {
    const environment = environmentOf(t, manifestsOf(file));
    t.same(faults([], environment), []);
    t.not(faults([], { ...environment, SWITCHYARD_DRAIN_TIMEOUT: 'soon' }).length, 0, 'others would be told');
    const { store } = load([], environment);
    t.match(store, { kind: 'redis' }, 'pods share their sessions and configs');
  });

  t.test(`${file}: ports, mounts and the time to end agree with the variables`, async (t) => {
    const manifests = manifestsOf(file);
    const environment = environmentOf(t, manifests);
    const options = load([], environment);
    const { pod, container } = podOf(manifests);
    t.same(container.args, [command]);
    const ports: Readonly<Record<string, number>> = Object.fromEntries(
      (container.ports ?? []).map(({ name = '', containerPort }) => [name, containerPort] as const),
    );
    const { data = {} } = only(manifests, 'ConfigMap');
    const { SWITCHYARD_ADDRESS: address = '', SWITCHYARD_ADMIN_ADDRESS: adminAddress } = data;
    t.equal(ports['http'], Number(address.split(':')[1]));
    t.equal(ports['admin'], adminAddress && Number(adminAddress.split(':')[1]));
    const mounted = (container.volumeMounts ?? []).map(({ mountPath }) => mountPath);
    for (const value of Object.values(data).filter((each) => each.startsWith(MOUNTED)))
      t.ok(mounted.includes(dirname(value)), value);
    for (const { name } of container.volumeMounts ?? [])
      t.ok(
        pod.volumes?.some((volume) => volume.name === name),
        name,
      );
    const noticeMs = 'drainNoticeMs' in options ? options.drainNoticeMs : 0;
    const neededMs = noticeMs + options.drainTimeoutMs + limits.noticeMsMax;
    t.ok((pod.terminationGracePeriodSeconds ?? 0) * 1_000 > neededMs, 'nobody is killed while it drains');
    t.match(container.securityContext, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
    t.match(pod.securityContext, { runAsNonRoot: true });
  });
}

const containerfile = readFileSync(join(root, 'deploy', 'container', 'Containerfile'), 'utf8');

t.test('the image is built from existing files, and runs as the user of the manifests', async (t) => {
  const copied = [...containerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, words = '']) =>
    words.split(' '),
  );
  t.ok(copied.includes('src') && copied.includes('package-lock.json'));
  for (const path of copied) t.ok(existsSync(join(root, path)), path);
  const sent = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  for (const path of copied) t.ok(sent.includes(`!${path.split('/')[0]}`), `${path} is sent to the builder`);
  t.ok(sent.includes('*'), 'and nothing else, as keys that lie about');
  const [, user] = /^USER (\d+):\d+$/m.exec(containerfile) ?? [];
  for (const { file } of planes) t.equal(podOf(manifestsOf(file)).pod.securityContext?.runAsUser, Number(user));
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
      const environment = environmentOf(t, [
        { kind: 'ConfigMap', metadata: { name: command }, data: service.environment ?? {} },
      ]);
      const keysPath = environment['SWITCHYARD_SECRETS_KEY_FILE'] ?? '';
      writeFileSync(keysPath, `${Buffer.alloc(32, 7).toString('base64')}\n`);
      t.same(faults([], environment), []);
      t.not(faults([], { ...environment, SWITCHYARD_REDIS_MODE: 'plain' }).length, 0, 'others would be told');
      const options = load([], environment);
      t.match(options.store, { kind: 'redis', place: { host: 'redis' } });
      for (const path of Object.values(service.environment ?? {}).filter((each) => each.startsWith(MOUNTED)))
        t.ok(
          service.volumes.some((volume) => volume.endsWith(`:${path}:ro`)),
          path,
        );
      const port = service.environment?.['SWITCHYARD_ADDRESS']?.split(':')[1] ?? '';
      t.same(service.ports, [`127.0.0.1:${port}:${port}`]);
      const graceMs = Number(service.stop_grace_period?.replace(/s$/, '')) * 1_000;
      t.ok(graceMs > options.drainTimeoutMs + limits.noticeMsMax, 'nobody is killed while it drains');
      t.notMatch(service.volumes.join(), /token\.key/, 'what signs tokens is not in a container that serves');
    }
    const admin = services['control-plane']?.environment?.['SWITCHYARD_DATAPLANE_ADMIN_ADDRESS'];
    t.equal(admin?.split(':')[1], services['dataplane']?.environment?.['SWITCHYARD_ADMIN_ADDRESS']?.split(':')[1]);
  },
);
