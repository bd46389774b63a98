// Generates the mutants of a package, with the operators of Stryker, and draws some at random: nobody chooses what the tests are asked.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import type { Package } from './packages.js';

export interface Mutant {
  /** What activates it in the instrumented sources. */
  readonly id: string;
  /** For example `src/auth/token-verifier.ts`. */
  readonly source: string;
  readonly line: number;
  readonly operator: string;
  /** What the source has, and what it has in its place; on one line, shortened. */
  readonly from: string;
  readonly to: string;
}

export interface Drawn {
  readonly mutants: readonly Mutant[];
  /** Of the whole package. */
  readonly generated: number;
  /** TypeScript that contains all mutants of its file, each behind a switch; by source, only where mutants were drawn. */
  readonly instrumented: ReadonlyMap<string, string>;
}

type InstrumenterOptions = Parameters<Instrumenter['instrument']>[1];
type NodePath = Parameters<InstrumenterOptions['ignorers'][number]['shouldIgnore']>[0];

const SHOWN_CHARS_MAX = 90;
const LOG_METHODS = /^(?:trace|debug|info|warn|error|fatal|describe)$/;

const silent = (): boolean => false;
const nothing = (): void => {};
const logger = {
  ...{ isTraceEnabled: silent, isDebugEnabled: silent, isInfoEnabled: silent },
  ...{ isWarnEnabled: silent, isErrorEnabled: silent, isFatalEnabled: silent },
  ...{ trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing, fatal: nothing },
};

/** @param seed draws the same mutants of a package whichever others are drawn from in the run. */
export async function drawMutants(
  root: string,
  { name, sources }: Package,
  count: number,
  seed: number,
): Promise<Drawn> {
  const files = sources.map((source) => ({
    name: source,
    mutate: true,
    content: readFileSync(join(root, source), 'utf8'),
  }));
  const options: InstrumenterOptions = {
    plugins: null,
    excludedMutations: [],
    ignorers: [{ shouldIgnore: isWording }],
  };
  const { files: outputs, mutants: all } = await new Instrumenter(logger).instrument(files, options);
  const contents = new Map(files.map((file) => [file.name, file.content]));
  const mutants = all
    .filter(({ status }) => status !== 'Ignored')
    .map(({ id, fileName, location, mutatorName, replacement }): Mutant => {
      const from = shown(textAt(contents.get(fileName) ?? '', location));
      return {
        id,
        source: fileName,
        line: location.start.line + 1,
        operator: mutatorName,
        from,
        to: shown(replacement),
      };
    });
  const drawn = sampleOf(mutants, count, randomNumbers(seed, name));
  const drawnFrom = new Set(drawn.map(({ source }) => source));
  const instrumented = outputs
    .filter((file) => drawnFrom.has(file.name))
    .map((file) => [file.name, file.content] as const);
  return { mutants: drawn, generated: mutants.length, instrumented: new Map(instrumented) };
}

/** What is said to people is wording: tests that repeat it promise nothing. These are texts of errors, of log lines, and descriptions. */
function isWording(path: NodePath): string | undefined {
  const { node } = path as { node: SyntaxNode };
  const isError = node.type === 'NewExpression' && /Error$/.test(node.callee?.name ?? '');
  const isLog = /^(?:Optional)?CallExpression$/.test(node.type) && LOG_METHODS.test(node.callee?.property?.name ?? '');
  return isError || isLog ? 'wording' : undefined;
}

interface SyntaxNode {
  readonly type: string;
  readonly callee?: { readonly name?: string; readonly property?: { readonly name?: string } };
}

/** So many of the items, or all, in their order. */
export function sampleOf<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  if (count >= items.length) return [...items];
  const ranked = items.map((item, at) => ({ item, at, rank: random() })).sort((one, other) => one.rank - other.rank);
  return ranked
    .slice(0, count)
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** Numbers from 0 up to 1, always the same ones for a seed and a name (mulberry32). */
export function randomNumbers(seed: number, name: string): () => number {
  let state = [...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619), seed | 0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Place {
  readonly line: number;
  readonly column: number;
}

function textAt(content: string, { start, end }: { readonly start: Place; readonly end: Place }): string {
  const lines = content.split('\n').slice(start.line, end.line + 1);
  const last = lines.length - 1;
  return lines
    .map((line, at) => line.slice(at === 0 ? start.column : 0, at === last ? end.column : undefined))
    .join('\n');
}

function shown(code: string): string {
  const line = code.replace(/\s+/g, ' ');
  return line.length > SHOWN_CHARS_MAX ? `${line.slice(0, SHOWN_CHARS_MAX)}…` : line;
}
