// A process that measures, as the orchestrator sees it: the load, or a yardstick that needs none. It takes one plan at a
// time, and returns one measurement.
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ChildProcesses, Core } from './child-processes.js';
import type { LoadPlan, LoadReply, Measurement, ReadsPlan, RunTimes } from './load-plan.js';

/** Beyond a plan's own time, for opening and closing its sessions. */
const SPARE_MS = 60_000;

export class MeasuringProcess<Plan extends RunTimes> {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Puts loads on targets. */
  static startLoad(children: ChildProcesses, name: string): Promise<MeasuringProcess<LoadPlan>> {
    return MeasuringProcess.#start(children, name, 'load.js', 'load');
  }

  /** The yardstick for lists, on the gateway's core. */
  static startListScript(children: ChildProcesses): Promise<MeasuringProcess<RunTimes>> {
    return MeasuringProcess.#start(children, 'list-script', 'list-script.js', 'target');
  }

  /** The yardstick for reading a record from Redis, on the gateways' core. */
  static startReads(children: ChildProcesses): Promise<MeasuringProcess<ReadsPlan>> {
    return MeasuringProcess.#start(children, 'redis-reads', 'redis-reads.js', 'target');
  }

  static async #start<Plan extends RunTimes>(
    children: ChildProcesses,
    name: string,
    module: string,
    core: Core,
  ): Promise<MeasuringProcess<Plan>> {
    const words = [fileURLToPath(new URL(module, import.meta.url))];
    const child = await children.start({ name, core, command: process.execPath, words, hasChannel: true });
    const started = new MeasuringProcess<Plan>(child);
    await started.#reply(SPARE_MS);
    return started;
  }

  async run(plan: Plan): Promise<Measurement> {
    const reply = this.#reply(plan.warmUpMs + plan.measureMs + SPARE_MS);
    this.#child.send(plan);
    const answer = await reply;
    switch (answer.kind) {
      case 'measured':
        return answer.measurement;
      case 'failed':
        throw new Error(answer.reason);
      case 'ready':
        throw new Error('a measuring process said that it is ready in the middle of a run');
    }
  }

  async #reply(waitMsMax: number): Promise<LoadReply> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`a measuring process was silent for ${waitMsMax} ms`)), waitMsMax);
    });
    const message = new Promise<LoadReply>((resolve) => this.#child.once('message', resolve));
    try {
      return await Promise.race([message, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
