// Whether the experiments can fail. An experiment with a control runs against a gateway from which an option has removed the
// protection under test, and must fail there for the expected reason. The victim and the watch over the workers, on which all other
// experiments rely, are tried with harm that no option causes.
import { setTimeout as sleep } from 'node:timers/promises';
import { AttackRun, faultWords, type Outcome } from './attack-run.js';
import type { Control, Experiment } from './experiment.js';
import type { Arrangement } from './options.js';
import type { NameServer } from '../support/name-server.js';

const STOPPED_MS = 3_000;

/** An experiment with the control under which it has to fail. */
export interface Controlled {
  readonly experiment: Experiment;
  readonly control: Control;
}

const heldUpWorker: Controlled = {
  control: { options: [], noticedBy: 'victim' },
  experiment: {
    name: 'held-up-worker',
    expected: `control alone: every worker stands still for ${STOPPED_MS / 1_000} s`,
    async run(stage) {
      const pids = stage.deployment.gateway.workerPids();
      const signalAll = (signal: NodeJS.Signals): void => pids.forEach((pid) => void process.kill(pid, signal));
      stage.scope.teardown(() => signalAll('SIGCONT'));
      signalAll('SIGSTOP');
      await sleep(STOPPED_MS);
      signalAll('SIGCONT');
      return 'stood still';
    },
  },
};

const lostWorker: Controlled = {
  control: { options: [], noticedBy: 'watch' },
  experiment: {
    name: 'lost-worker',
    expected: 'control alone: a worker is killed',
    async run(stage) {
      const { gateway } = stage.deployment;
      const [pid] = gateway.workerPids();
      process.kill(pid!, 'SIGKILL');
      await gateway.waitForLog(({ msg }) => msg === 'worker listening');
      return 'killed';
    },
  },
};

/** The experiments that have a control, and the two kinds of harm that need no experiment. */
export function controlledOf(experiments: readonly Experiment[], only: readonly string[]): Controlled[] {
  const own = experiments.flatMap((experiment) => {
    const { control } = experiment;
    return control === undefined ? [] : [{ experiment, control }];
  });
  const isWanted = ({ experiment: { name } }: Controlled): boolean => only.length === 0 || only.includes(name);
  return [...own, heldUpWorker, lostWorker].filter(isWanted);
}

/** Runs on a gateway of its own, with as many workers as the experiment needs. */
export async function runControl(
  { experiment, control }: Controlled,
  { workerCount, store }: Arrangement,
  nameServer: NameServer,
): Promise<Outcome> {
  const arrangement = { workerCount: Math.max(workerCount, experiment.workersMin ?? 1), store };
  const run = new AttackRun(arrangement, true, nameServer);
  try {
    return await run.run(experiment, control);
  } finally {
    await run.end();
  }
}

/** Whether the harm was noticed by the party that had to: an experiment that fails for another reason proves nothing. */
export function isNoticed({ noticedBy }: Control, { faults }: Outcome): boolean {
  switch (noticedBy) {
    case 'experiment':
      return faults.includes(faultWords.seen);
    case 'victim':
      return faults.some((fault) => fault.startsWith(faultWords.victim));
    case 'watch':
      return faults.includes(faultWords.death);
  }
}
