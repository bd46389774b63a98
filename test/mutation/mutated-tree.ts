// A copy of the tree in which one package is instrumented: it contains all mutants, and the environment of a process activates one.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { runTestFile, runTestGroup, type TestFileRun } from '../runner/test-file.js';

/** Known to the instrumented sources. */
const ACTIVE_MUTANT = '__STRYKER_ACTIVE_MUTANT__';
/** As in tsconfig.json: what decides about the written code. */
const COMPILER = { compilerOptions: { target: 'ES2023', useDefineForClassFields: false, verbatimModuleSyntax: true } };
/**
 * Each instrumented module begins with it: now and then, and at its end, a process, or a thread, writes down which mutants it came by.
 * Tests that start programs of the package are known so as well, also when they kill them.
 */
const COVERAGE = `import { renameSync as __rename, writeFileSync as __write } from 'node:fs';
import { threadId as __thread } from 'node:worker_threads';
if (process.env.MUTANTS_REACHED && !globalThis.__reached) {
  const note = () => {
    const reached = Object.keys(globalThis.__stryker__?.mutantCoverage?.static ?? {});
    if (reached.length === globalThis.__reached.length) return;
    const path = process.env.MUTANTS_REACHED + '/' + process.pid + '-' + __thread;
    __write(path + '.part', JSON.stringify(globalThis.__reached = reached));
    __rename(path + '.part', path);
  };
  globalThis.__reached = [];
  process.on('exit', note);
  setInterval(note, 100).unref();
}
`;

export class MutatedTree {
  readonly #scratch = mkdtempSync(join(tmpdir(), 'switchyard-mutants-'));
  readonly root: string = join(this.#scratch, 'tree');
  readonly #originals = new Map<string, string>();
  #runs = 0;

  constructor(root: string) {
    mkdirSync(this.root);
    for (const entry of readdirSync(root).filter((name) => name !== 'build' && name !== '.git')) {
      symlinkSync(join(root, entry), join(this.root, entry));
    }
    cpSync(join(root, 'build'), join(this.root, 'build'), { recursive: true });
  }

  /** Replaces what was instrumented before. @param sources TypeScript by path, for example `src/auth/token-verifier.ts`. */
  instrument(sources: ReadonlyMap<string, string>): void {
    for (const [path, original] of this.#originals) writeFileSync(path, original);
    this.#originals.clear();
    for (const [source, content] of sources) {
      const path = join(this.root, 'build', source.replace(/\.ts$/, '.js'));
      this.#originals.set(path, readFileSync(path, 'utf8'));
      const { code } = transformSync(content, { loader: 'ts', format: 'esm', target: 'node20', tsconfigRaw: COMPILER });
      writeFileSync(path, COVERAGE + code);
    }
  }

  /** Runs a test file without a mutant, and says which mutants it came by. */
  async reachedBy(test: string): Promise<{ run: TestFileRun; ids: ReadonlySet<string> }> {
    const reached = join(this.#scratch, `reached-${(this.#runs += 1)}`);
    mkdirSync(reached);
    const run = await this.#run([test], { MUTANTS_REACHED: reached });
    const ids = readdirSync(reached)
      // What a process was killed at writing has its last word beside it, if there is one.
      .filter((file) => !file.endsWith('.part'))
      .flatMap((file) => JSON.parse(readFileSync(join(reached, file), 'utf8')) as string[]);
    return { run, ids: new Set(ids) };
  }

  /** Runs test files in one process with a mutant, until a test fails. */
  async runMutant(id: string, tests: readonly string[], msMax: number): Promise<TestFileRun> {
    return this.#run(tests, { [ACTIVE_MUTANT]: id, TAP_BAIL: '1' }, msMax);
  }

  remove(): void {
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  async #run(tests: readonly string[], environment: Record<string, string>, msMax?: number): Promise<TestFileRun> {
    const outputPath = join(this.#scratch, `output-${(this.#runs += 1)}`);
    const setup = {
      root: this.root,
      outputPath,
      environment,
      ...(msMax !== undefined && { hung: AbortSignal.timeout(Math.ceil(msMax)) }),
      signalMsMax: 2_000,
    };
    const [only] = tests;
    const run = tests.length === 1 && only !== undefined ? runTestFile(only, setup) : runTestGroup(tests, setup);
    return run.finally(() => rmSync(outputPath, { force: true }));
  }
}
