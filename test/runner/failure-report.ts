// The output of `npm test`: a line for each test file as it ends, with its time, its assertions and what failed in it, and all failures
// again at the end, so that the last lines of a run name them; the very last one counts assertions. Files that failed and passed on a
// second run are reported separately.
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, join } from 'node:path';
import { Transform, type TransformCallback } from 'node:stream';
import { inspect } from 'node:util';
import { Parser, type Result } from 'tap-parser';

/** How tap started a file, and the location of the compiled test: useless for finding a failure. */
const NOT_SHOWN = new Set(['stdio', 'cwd', 'command', 'args', 'env', 'externalID', 'jobId', 'generated']);
/** Longer diagnostics, such as the difference between two long texts, are cut. */
const DIAGNOSTICS_LINES_MAX = 60;
/** Output of a file other than TAP: its last lines are shown if the file fails. */
const STRAY_LINES_MAX = 20;
const INDENT = '    ';

interface Failure {
  /** The file, its subtests and the assertion. */
  readonly path: readonly string[];
  readonly details: readonly string[];
}

export default class FailureReport extends Transform {
  readonly #parser = new Parser();
  readonly #failures: Failure[] = [];
  /** Failures of files that passed on their second run. */
  readonly #unsteady: Failure[] = [];
  #fileCount = 0;
  #assertionCount = 0;
  /** Those of the files that have ended. */
  #reportedCount = 0;
  /** Stray lines of the file that is being read. */
  #strayLines: string[] = [];

  constructor() {
    super();
    this.#watch(this.#parser, []);
    this.#parser.on('comment', (comment: string) => this.#write(comment.trimEnd()));
    this.#parser.on('bailout', (reason: string) => this.#failures.push({ path: [`Bail out! ${reason}`], details: [] }));
  }

  override _transform(chunk: Buffer | string, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#parser.write(chunk.toString());
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#parser.end();
    this.#writeSummary();
    done();
  }

  /** Reads one level of results. A subtest has a parser of its own, and ends with a result at the level above. */
  #watch(parser: Parser, path: readonly string[]): void {
    let failuresBefore: number | undefined;
    parser.on('child', (child: Parser) => {
      failuresBefore = this.#failures.length;
      this.#watch(child, [...path, child.name]);
    });
    parser.on('assert', (result: Result) => {
      if (failuresBefore === undefined) this.#assertionCount++;
      const before = failuresBefore ?? this.#failures.length;
      failuresBefore = undefined;
      // A subtest that failed because of its own assertion is not another failure.
      const isNew = !result.ok && result.todo === false && this.#failures.length === before;
      if (isNew) this.#failures.push({ path: [...path, nameOf(result)], details: detailsOf(result) });
      if (path.length === 0) this.#endFile(result, this.#failures.slice(before));
    });
    parser.on('extra', (text: string) => {
      this.#strayLines = [...this.#strayLines, ...text.trimEnd().split('\n')].slice(-STRAY_LINES_MAX);
    });
  }

  #endFile(result: Result, failures: readonly Failure[]): void {
    this.#fileCount++;
    const seconds = ((result.time ?? 0) / 1000).toFixed(1).padStart(6);
    const assertions = String(this.#assertionCount - this.#reportedCount).padStart(5);
    this.#reportedCount = this.#assertionCount;
    const isUnsteady = !result.ok && result.todo !== false;
    if (isUnsteady) this.#unsteady.push(...this.#failures.splice(-failures.length, failures.length));
    if (isUnsteady) this.#write(`UNSTEADY  ${nameOf(result)}: ${String(result.todo)}`);
    else this.#write(`${result.ok ? '    ok' : 'FAILED'} ${seconds} s ${assertions}  ${nameOf(result)}`);
    for (const failure of failures) this.#writeFailure(failure);
    if (!result.ok && this.#strayLines.length > 0) {
      this.#write(`${INDENT}It also wrote:`);
      for (const line of this.#strayLines) this.#write(`${INDENT}${INDENT}${line}`);
    }
    this.#strayLines = [];
  }

  /** The names of all failures come last: one line each, so that they all fit into the kept end of a long output. */
  #writeSummary(): void {
    if (this.#failures.length > 0) {
      this.#write('\nWhat failed, in full:');
      for (const failure of this.#failures) this.#writeFailure(failure);
      this.#write('\nWhat failed:');
      for (const { path } of this.#failures) this.#write(`${INDENT}${path.join(' > ')}`);
    }
    if (this.#unsteady.length > 0) {
      this.#write('\nWhat failed, and passed when it ran once more, alone:');
      for (const { path } of this.#unsteady) this.#write(`${INDENT}${path.join(' > ')}`);
    }
    this.#write(`\n${this.#fileCount} test files`);
    const failed = this.#failures.length;
    const passed = this.#assertionCount - failed - this.#unsteady.length;
    this.#write(`${Math.max(passed, 0)} passed, ${failed} failed`);
  }

  #writeFailure({ path, details }: Failure): void {
    this.#write(`${INDENT}${path.join(' > ')}`);
    for (const line of details) this.#write(`${INDENT}${INDENT}${line}`);
  }

  #write(line: string): void {
    this.push(`${line}\n`);
  }
}

/** A file that timed out comes without its name, which is in the diagnostics. */
function nameOf(result: Result): string {
  const diagnostics: unknown = result.diag;
  if (typeof diagnostics !== 'object' || diagnostics === null || !('expired' in diagnostics)) return result.name;
  return `${String(diagnostics.expired)}: ${result.name}`;
}

/** The diagnostics of a failed assertion: multi-line texts unchanged, everything else as JavaScript formats it. */
function detailsOf(result: Result): string[] {
  const diagnostics: unknown = result.diag;
  if (typeof diagnostics !== 'object' || diagnostics === null) return [];
  const lines = Object.entries(diagnostics)
    .filter(([name]) => !NOT_SHOWN.has(name))
    .flatMap(([name, value]) => entryLines(name, value));
  if (lines.length <= DIAGNOSTICS_LINES_MAX) return lines;
  return [...lines.slice(0, DIAGNOSTICS_LINES_MAX), `(${lines.length - DIAGNOSTICS_LINES_MAX} more lines)`];
}

function entryLines(name: string, value: unknown): string[] {
  if (name === 'at') return [`at: ${place(value)}`];
  const text = typeof value === 'string' ? value.trimEnd() : inspect(value, { breakLength: 110, depth: 6 });
  const lines = text.split('\n');
  return lines.length === 1 ? [`${name}: ${text}`] : [`${name}:`, ...lines.map((line) => `  ${line}`)];
}

/** A source position in the form that editors open. */
function place(at: unknown): string {
  if (typeof at !== 'object' || at === null) return String(at);
  const { fileName, lineNumber, columnNumber } = at as Readonly<Record<string, unknown>>;
  const source = sourcePlace(String(fileName), Number(lineNumber), Number(columnNumber));
  return [...(source ?? [fileName, lineNumber, columnNumber])]
    .filter((part) => part !== undefined)
    .map(String)
    .join(':');
}

/** The line's position in TypeScript. Looked up only for failures: having Node map every file would slow each down. */
function sourcePlace(file: string, line: number, column: number): (string | number)[] | undefined {
  const map = `${file}.map`;
  if (!existsSync(map)) return undefined;
  const entry = new SourceMap(JSON.parse(readFileSync(map, 'utf8')) as SourceMapPayload).findEntry(
    line - 1,
    column - 1,
  );
  if (!('originalSource' in entry)) return undefined;
  return [join(dirname(file), entry.originalSource), entry.originalLine + 1, entry.originalColumn + 1];
}
