// Whether the experiments can fail. One that has a control runs against a gateway from which an option has taken what it is about, and
// must not be as it must be there, for the reason that is expected. What all others go by, the victim and the watch over the workers,
// is tried with harm that no option brings.
import { setTimeout as sleep } from 'node:timers/promises';
import { AttackRun, faultWords, type Outcome } from './attack-run.js';
import type { Control, Experiment } from './experiment.js';
import type { Arrangement } from './options.js';
import type { NameServer } from '../support/name-server.js';

const STOPPED_MS = 3_000;

/** An experiment with the control that it has to fail on. */
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

/** Those that have one of these experiments, and what is tried without any. */
export function controlledOf(experiments: readonly Experiment[], only: readonly string[]): Controlled[] {
  const own = experiments.flatMap((experiment) => {
    const { control } = experiment;
    return control === undefined ? [] : [{ experiment, control }];
  });
  const isWanted = ({ experiment: { name } }: Controlled): boolean => only.length === 0 || only.includes(name);
  return [...own, heldUpWorker, lostWorker].filter(isWanted);
}

/** On a gateway of its own, with as many workers as it needs. */
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

/** Whether the harm was noticed, and by whom it had to be: an experiment that fails for another reason shows nothing. */
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
