// The Helm chart: a cluster accepts what it makes, every variable in it is an option with a valid value, it agrees with the program, and
// wrong values are told. Rendered by Helm itself (`helm`, or what TEST_HELM names); without it the test is skipped and says so.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Deployment, StatefulSet, type IDeployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Ingress, NetworkPolicy, type INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service, type IService } from 'kubernetes-models/v1';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { limits } from '../../src/shared/limits.js';
import { environmentOf, MOUNTED, planes, root } from './planes.js';

const { TEST_HELM: HELM = 'helm' } = process.env;
const chart = join(root, 'deploy', 'helm', 'switchyard');

/** Each class checks its instances against the schema of their kind. */
const kinds = {
  ...{ ConfigMap, Deployment, HorizontalPodAutoscaler, Ingress, NetworkPolicy, PodDisruptionBudget, Service },
  StatefulSet,
};
type Kind = keyof typeof kinds;

interface Manifest {
  readonly kind: Kind;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface Values {
  readonly [name: string]: Values | string | number | boolean | readonly string[];
}

const image = { repository: 'registry.example/switchyard' };
const hosts = (host: string): Values => ({ hosts: [host], ingress: { enabled: true, tlsSecret: 'tls' } });
const plain: Values = { image, redis: { address: 'redis.example' } };

/** Values, by what is shown with them. */
const cases: Readonly<Record<string, Values>> = {
  'as little as possible': plain,
  'a Redis of its own, more pods when busy, ingresses, a key for secrets': {
    image,
    keys: { secretsKey: 'secrets' },
    redis: { bundled: { enabled: true } },
    dataplane: { ...hosts('gateway.example'), autoscaling: { enabled: true }, drain: { timeoutSeconds: 600 } },
    controlPlane: { ...hosts('control.example'), options: { 'connect-url': 'https://control.example' } },
  },
  'client certificates, users of Redis, large numbers, IPv6': {
    image,
    listenOn: '[::]',
    redis: { address: 'redis.example', port: 6380, mode: 'mtls' },
    dataplane: { redis: { username: 'dataplane' }, options: { 'max-body-bytes': 104_857_600, 'access-log': false } },
    controlPlane: { redis: { username: 'control-plane' } },
  },
};

function render(values: Values, release = 'sw'): { readonly status: number | null; readonly output: string } {
  const words = ['template', release, chart, '--namespace', 'tools', '--values', '-'];
  const { status, stdout, stderr } = spawnSync(HELM, words, { input: JSON.stringify(values), encoding: 'utf8' });
  return { status, output: status === 0 ? stdout : stderr };
}

function manifestsOf(values: Values, release?: string): Manifest[] {
  const { status, output } = render(values, release);
  if (status !== 0) throw new Error(output);
  return parseAllDocuments(output).map((document) => document.toJS() as Manifest);
}

function found(manifests: readonly Manifest[], kind: Kind, name: string): Manifest {
  const manifest = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (manifest === undefined) throw new Error(`there is no ${kind} ${name}`);
  return manifest;
}

const NAMES = { dataplane: 'sw-switchyard', 'control-plane': 'sw-switchyard-control-plane' };

const version = spawnSync(HELM, ['version', '--short'], { encoding: 'utf8' });
if (version.error !== undefined)
  t.pass('there is no Helm', { skip: `Helm is not installed (${HELM}); TEST_HELM names it` });
else {
  for (const [name, values] of Object.entries(cases)) {
    t.test(`${name}: every manifest is accepted by a cluster`, async (t) => {
      for (const manifest of manifestsOf(values)) {
        const Model = kinds[manifest.kind] as new (data: unknown) => { validate(): void };
        t.doesNotThrow(() => new Model(manifest).validate(), `${manifest.kind} ${manifest.metadata.name}`);
        t.throws(() => new Model({ ...manifest, metadata: 7 }).validate(), 'and others are not');
      }
    });

    for (const { command, faults, load } of planes) {
      t.test(`${name}: the variables of the ${command} are options, and fit its pod`, async (t) => {
        const manifests = manifestsOf(values);
        const { data = {} } = found(manifests, 'ConfigMap', NAMES[command]);
        const environment = environmentOf(t, data);
        t.same(faults([], environment), []);
        t.not(faults([], { ...environment, SWITCHYARD_DRAIN_TIMEOUT: 'soon' }).length, 0, 'others would be told');
        const options = load([], environment);
        t.match(options.store, { kind: 'redis' }, 'pods share their sessions and configs');
        const { spec } = found(manifests, 'Deployment', NAMES[command]) as unknown as IDeployment;
        const pod = spec?.template.spec;
        const [container] = pod?.containers ?? [];
        t.same(container?.args, [command]);
        const ports = Object.fromEntries(
          (container?.ports ?? []).map(({ name = '', containerPort }) => [name, containerPort] as const),
        );
        const { SWITCHYARD_ADDRESS: address = '', SWITCHYARD_ADMIN_ADDRESS: adminAddress } = data;
        t.equal(ports['http'], Number(address.split(':').at(-1)));
        t.equal(ports['admin'], adminAddress === '' ? undefined : Number(adminAddress?.split(':').at(-1)));
        const mounted = (container?.volumeMounts ?? []).map(({ mountPath }) => mountPath);
        for (const value of Object.values(data).filter((each) => each.startsWith(MOUNTED)))
          t.ok(mounted.includes(dirname(value)), value);
        const volumes = (pod?.volumes ?? []).map(({ name }) => name);
        for (const { name } of container?.volumeMounts ?? []) t.ok(volumes.includes(name), name);
        const noticeMs = 'drainNoticeMs' in options ? options.drainNoticeMs : 0;
        const neededMs = noticeMs + options.drainTimeoutMs + limits.oneWayRequestMsMax;
        t.ok((pod?.terminationGracePeriodSeconds ?? 0) * 1_000 > neededMs, 'nobody is killed while it drains');
        t.match(container?.securityContext, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
        const [, user] =
          /^USER (\d+):\d+$/m.exec(readFileSync(join(root, 'deploy/container/Containerfile'), 'utf8')) ?? [];
        t.match(pod?.securityContext, { runAsNonRoot: true, runAsUser: Number(user) });
        for (const probe of [container?.startupProbe, container?.livenessProbe]) {
          t.match(JSON.stringify(probe), /live|tcpSocket/);
          t.notMatch(JSON.stringify(probe), /ready|health/, 'a lost Redis restarts no pod');
        }
      });
    }
  }

  t.test('the control plane finds the admin listeners of all pods by a name, and may use them', async (t) => {
    const manifests = manifestsOf(plain);
    const { data = {} } = found(manifests, 'ConfigMap', NAMES['control-plane']);
    t.equal(data['SWITCHYARD_DATAPLANE_ADMIN_ADDRESS'], 'sw-switchyard-admin.tools.svc:8002');
    const { spec: service } = found(manifests, 'Service', 'sw-switchyard-admin') as unknown as IService;
    t.match(service, {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      ports: [{ port: 8002, targetPort: 'admin' }],
    });
    const labelsOf = (command: keyof typeof NAMES) => {
      const { spec } = found(manifests, 'Deployment', NAMES[command]) as unknown as IDeployment;
      return spec?.template.metadata?.labels;
    };
    t.match(labelsOf('dataplane'), service?.selector ?? { missing: true });
    const { spec: policy } = found(manifests, 'NetworkPolicy', 'sw-switchyard') as unknown as INetworkPolicy;
    t.match(labelsOf('dataplane'), policy?.podSelector?.matchLabels ?? { missing: true });
    const [, rule] = policy?.ingress ?? [];
    t.match(rule, { ports: [{ port: 'admin' }] });
    const [from] = rule?.from ?? [];
    t.match(labelsOf('control-plane'), from?.podSelector?.matchLabels ?? { missing: true });
    t.notMatch(labelsOf('dataplane'), from?.podSelector?.matchLabels ?? {}, 'and other pods may not');
  });

  t.test('two releases in one namespace do not share a pod', async (t) => {
    const selectorOf = (release: string) => {
      const { spec } = manifestsOf(plain, release).find(({ kind }) => kind === 'Service') as unknown as IService;
      return spec?.selector;
    };
    t.notSame(selectorOf('one'), selectorOf('other'));
  });

  t.test('releases with long names have names of their own, which a cluster accepts', async (t) => {
    const names = ['a', 'b'].map((last) =>
      manifestsOf(plain, `${'x'.repeat(52)}${last}`).map(({ metadata }) => metadata.name),
    );
    t.ok(names.flat().every((name) => name.length <= 63));
    t.equal(new Set(names.map(([name]) => name)).size, 2);
  });

  t.test('wrong and missing values are told', async (t) => {
    const wrong: readonly (readonly [Values, RegExp])[] = [
      [{ redis: { address: 'redis.example' } }, /image\.repository is missing/],
      [{ image }, /redis\.address is missing: .*redis\.bundled/],
      [{ ...plain, dataplan: {} }, /dataplan/],
      [{ ...plain, redis: { adress: 'redis.example' } }, /adress/],
      [{ ...plain, dataplane: { replicas: 'three' } }, /replicas/],
      [{ ...plain, dataplane: { options: { address: '0.0.0.0:1' } } }, /options/],
      [{ ...plain, dataplane: { options: { ACCESS_LOG: true } } }, /ACCESS_LOG/],
      [{ ...plain, controlPlane: { ingress: { enabled: true } } }, /control-plane: an ingress needs hosts/],
      [
        { ...plain, dataplane: { autoscaling: { enabled: true, minReplicas: 13 } } },
        /autoscaling: minReplicas is greater than maxReplicas/,
      ],
    ];
    for (const [values, words] of wrong) {
      const { status, output } = render(values);
      t.equal(status, 1);
      t.match(output, words);
    }
  });

  t.test('Helm finds nothing to complain of, and the versions are those of the program', async (t) => {
    const words = ['lint', '--strict', chart, '--values', '-'];
    const { status, stdout } = spawnSync(HELM, words, { input: JSON.stringify(plain), encoding: 'utf8' });
    t.equal(status, 0, stdout);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
    const text = readFileSync(join(chart, 'Chart.yaml'), 'utf8');
    t.match(text, `\nversion: ${version}\n`);
    t.match(text, `\nappVersion: ${version}\n`);
  });
}
