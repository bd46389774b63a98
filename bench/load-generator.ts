// The load's process as the orchestrator sees it: one plan at a time in, one measurement out.
import { fileURLToPath } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import type { ChildProcesses } from './child-processes.js';
import type { LoadPlan, LoadReply, Measurement } from './load-plan.js';

/** Beyond a plan's own time, for opening and closing its sessions. */
const SPARE_MS = 60_000;

export class LoadGenerator {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(children: ChildProcesses): Promise<LoadGenerator> {
    const child = await children.start({
      name: 'load',
      core: 'load',
      command: process.execPath,
      words: [fileURLToPath(new URL('load.js', import.meta.url))],
      hasChannel: true,
    });
    const generator = new LoadGenerator(child);
    await generator.#reply(SPARE_MS);
    return generator;
  }

  async run(plan: LoadPlan): Promise<Measurement> {
    const reply = this.#reply(plan.warmUpMs + plan.measureMs + SPARE_MS);
    this.#child.send(plan);
    const answer = await reply;
    switch (answer.kind) {
      case 'measured':
        return answer.measurement;
      case 'failed':
        throw new Error(answer.reason);
      case 'ready':
        throw new Error('the load process said that it is ready in the middle of a run');
    }
  }

  async #reply(waitMsMax: number): Promise<LoadReply> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the load process was silent for ${waitMsMax} ms`)), waitMsMax);
    });
    const message = new Promise<LoadReply>((resolve) => this.#child.once('message', resolve));
    try {
      return await Promise.race([message, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
