// A worker that stands still, and a gateway that is started where another one runs already.
import type { ProgramExit } from '../../support/gateway.js';
import { launchProgram, storeOptionWords } from '../../support/gateway.js';
import { findFreePort } from '../../support/free-port.js';
import { until } from '../../support/until.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { expect, type Experiment } from '../experiment.js';

const HANG_MS = 2_000;
/** From when a worker stands still until calls are answered again, on a machine with other load. */
const ANSWERED_MS_MAX = 60_000;

export const workerStopped: Experiment = {
  name: 'worker-stopped',
  control: { options: ['--worker-hang-timeout', '0ms', '--log-level', 'debug'], noticedBy: 'experiment' },
  expected: 'a worker that is stopped is killed after --worker-hang-timeout and said so, and sessions open again',
  gateway: { kind: 'own', options: ['--worker-hang-timeout', `${HANG_MS}ms`, '--log-level', 'debug'] },
  endsProcesses: true,
  isLong: true,
  async run(stage) {
    const { gateway, workerCount } = stage.deployment;
    const backend = await stage.backend();
    const caller = await stage.caller({ one: { url: backend.url } });
    await caller.openSession();
    const stopped = gateway.workerPids()[0]!;
    const beganMs = performance.now();
    process.kill(stopped, 'SIGSTOP');
    const line = await gateway
      .waitForLog(({ msg, workerPid }) => msg === 'worker hangs: killed' && workerPid === stopped, ANSWERED_MS_MAX)
      .catch(() => undefined);
    expect(line !== undefined, 'the log does not say that it hangs');
    const killedMs = Math.round(performance.now() - beganMs);
    const listening = (): number => gateway.logs.filter(({ msg }) => msg === 'worker listening').length;
    await until(() => listening() === workerCount + 1, 'the worker in its place');
    const session = await caller.openSession();
    const { status } = await session.call('one-echo');
    const seen = `killed after ${killedMs} ms; then a call: ${status}`;
    expect(status === 200 && !gateway.workerPids().includes(stopped), seen);
    return seen;
  },
};

export const secondGateway: Experiment = {
  name: 'second-gateway',
  expected: 'of gateways that are started on one address at the same moment one listens, the others end and say why',
  isLong: true,
  async run(stage) {
    const address = `127.0.0.1:${await findFreePort()}`;
    const launched = Array.from({ length: 3 }, () => {
      const path = `${createScratchDirectory(stage.scope)}/store`;
      const words = ['dataplane', '--address', address, '--number-of-cpus', '1'];
      return launchProgram(stage.scope, [...words, ...storeOptionWords({ kind: 'embedded', path })]);
    });
    const fates = await Promise.all(
      launched.map(async (gateway) => Promise.race([gateway.exit, gateway.waitUntilListening().then(() => 'listens')])),
    ).catch((error: unknown) => [String(error)]);
    const isListening = (fate: ProgramExit | string): boolean => fate === 'listens';
    const seen = fates.map((fate) => (typeof fate === 'string' ? fate : `exit ${fate.code}`)).join(', ');
    const saying = launched.filter(({ logs, errorOutput }) =>
      `${JSON.stringify(logs)}${errorOutput}`.includes('in use'),
    );
    expect(fates.filter(isListening).length === 1 && saying.length === 2, `${seen}; ${saying.length} say why`);
    return seen;
  },
};
