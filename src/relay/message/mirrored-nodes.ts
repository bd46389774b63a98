// Finds the parameters of a call that the mirror repeats, in one walk over the arguments that reads each key once, however many
// parameters the tool has. Callers choose the keys of arguments, and backends the parameters of tools: looking for each parameter
// among all keys would cost the product of both.
import { ESCAPE_BYTES_MAX } from '../../protocol/json-member.js';
import { jsonKind, type JsonScanner } from '../../protocol/json-scanner.js';
import type { MirroredParam } from '../../protocol/tool-mirrors.js';

/** The path to the arguments in a message. */
const ARGUMENTS_AT: readonly string[] = ['params', 'arguments'];

/** Returns the text of the key between the offsets, which exclude its quotes. */
export type KeyText = (start: number, end: number) => string;

/** A member on the path to parameters, or a parameter itself. */
interface Step {
  /** Index of the parameter; -1 where the member is none. */
  param: number;
  readonly members: Map<string, Step>;
}

/** The paths to the parameters of one tool, from the message's root. */
export class MirroredPaths {
  static readonly #known = new WeakMap<readonly MirroredParam[], MirroredPaths>();

  /** Built once for each tool. */
  static of(params: readonly MirroredParam[]): MirroredPaths {
    let paths = MirroredPaths.#known.get(params);
    if (paths === undefined) MirroredPaths.#known.set(params, (paths = new MirroredPaths(params)));
    return paths;
  }

  /** Depth of the deepest parameter. */
  readonly depth: number;
  readonly #root: Step = { param: -1, members: new Map() };
  readonly #paramCount: number;
  /** Names of the members that contain further steps of a path. */
  readonly #containers = new Set<string>();
  /** Bytes that a key with one of these names can have, at most. */
  readonly #keyBytesMax: number;

  private constructor(params: readonly MirroredParam[]) {
    let [depth, keyBytesMax] = [0, 0];
    for (const [index, { path }] of params.entries()) {
      const names = [...ARGUMENTS_AT, ...path];
      depth = Math.max(depth, names.length);
      let step = this.#root;
      for (const [at, name] of names.entries()) {
        if (at < names.length - 1) this.#containers.add(name);
        keyBytesMax = Math.max(keyBytesMax, ESCAPE_BYTES_MAX * name.length);
        let next = step.members.get(name);
        if (next === undefined) step.members.set(name, (next = { param: -1, members: new Map() }));
        step = next;
      }
      step.param = index;
    }
    this.depth = depth;
    this.#keyBytesMax = keyBytesMax;
    this.#paramCount = params.length;
  }

  /** Whether a container with this key may be on the path to a parameter. */
  mayLead(keyStart: number, keyEnd: number, keyText: KeyText): boolean {
    return keyEnd - keyStart <= this.#keyBytesMax && this.#containers.has(keyText(keyStart, keyEnd));
  }

  /** The node of each parameter, -1 for an absent one. A name given twice counts as absent: the backend may take either. */
  nodesIn(tape: JsonScanner, keyText: KeyText): readonly number[] {
    const nodes = new Array<number>(this.#paramCount).fill(-1);
    this.#walk(tape, keyText, this.#root, 0, nodes);
    return nodes;
  }

  #walk(tape: JsonScanner, keyText: KeyText, step: Step, node: number, nodes: number[]): void {
    if (step.param !== -1) nodes[step.param] = node;
    if (step.members.size === 0 || tape.kind(node) !== jsonKind.object) return;
    const found = new Map<Step, number>();
    const past = tape.next(node);
    for (let member = node + 1; member < past; member = tape.next(member)) {
      const [start, end] = [tape.keyStart(member), tape.keyEnd(member)];
      if (end - start > this.#keyBytesMax) continue;
      const next = step.members.get(keyText(start, end));
      if (next !== undefined) found.set(next, found.has(next) ? -1 : member);
    }
    for (const [next, member] of found) if (member !== -1) this.#walk(tape, keyText, next, member, nodes);
  }
}
