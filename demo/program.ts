// One of the quick start's two programs, the gateway or its control plane, as a child process.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { WriteStream } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';

/** An exit status of the program (docs/operations.md). */
const ADDRESS_UNAVAILABLE = 69;
/** Mostly the address is taken by an earlier quick start that still runs. */
const OTHER_PORTS =
  'If another quick start runs already, use that one, or stop it with Ctrl-C; or run this one on other ports: npm run quickstart -- 127.0.0.1:9001 127.0.0.1:9444';

/** A child that outlived this process would keep its port. The channel between them also closes when this process is killed. */
const END_WITH_PARENT = `data:text/javascript,process.on('disconnect',()=>process.kill(process.pid,'SIGTERM'))`;

export class Program {
  /** Exit status; `null` when it was killed. */
  readonly exited: Promise<number | null>;
  readonly #name: string;
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #log: Interface;
  /** What to read when it ends by itself. */
  #lastLine = '';

  /** @param words the arguments of the script. @param file for its log. */
  constructor(name: string, script: string, words: readonly string[], file: WriteStream) {
    this.#name = name;
    // In a process group of its own, so that Ctrl-C reaches it only once, through this process.
    this.#child = spawn(process.execPath, ['--import', END_WITH_PARENT, script, ...words], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      detached: true,
    }) as ChildProcessByStdio<null, Readable, null>;
    this.#log = createInterface(this.#child.stdout).on('line', (line) => {
      this.#lastLine = line;
      file.write(`${line}\n`);
    });
    // `close`: its last line has been read.
    this.exited = once(this.#child, 'close').then(([status]) => status as number | null);
    void this.exited.then((status) => status !== 0 && console.error(this.#lastLine));
  }

  /** Resolves with the address in the log line with this message. Rejects when the program cannot start. */
  addressIn(message: 'listening' | 'admin listener'): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#log.on('line', (line) => {
        const { msg, address } = parseLine(line);
        if (msg === message && typeof address === 'string') resolve(address);
      });
      void this.exited.then((status) => {
        const advice = status === ADDRESS_UNAVAILABLE ? `\n${OTHER_PORTS}` : '';
        reject(new Error(`the ${this.#name} did not start (exit status ${status}); the line above says why${advice}`));
      });
    });
  }

  stop(): void {
    this.#child.kill('SIGTERM');
  }
}

function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {};
  }
}
