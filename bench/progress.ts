// One line that shows the progress of a bench: rewritten in place on a terminal, a line per step elsewhere.

export class Progress {
  readonly #steps: number;
  readonly #startedMs = performance.now();
  #done = 0;

  constructor(steps: number) {
    this.#steps = steps;
  }

  step(what: string): void {
    const elapsedMs = performance.now() - this.#startedMs;
    const left = this.#done === 0 ? '' : `, ${minutes((elapsedMs / this.#done) * (this.#steps - this.#done))} left`;
    const line = `[${this.#done + 1}/${this.#steps}] ${what}${left}`;
    process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
    this.#done += 1;
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  }
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
