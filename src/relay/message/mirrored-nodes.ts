// Where the parameters of a call are that its head says again: found in one walk over its arguments, in which each key is read once, however
// many parameters a tool has. Who writes arguments chooses their keys, and who makes a tool its parameters: looking for each of these among
// all of those would cost as much as both together.
import { ESCAPE_BYTES_MAX } from '../../protocol/json-member.js';
import { jsonKind, type JsonScanner } from '../../protocol/json-scanner.js';
import type { MirroredParam } from '../../protocol/tool-mirrors.js';

/** Where arguments are in a message. */
const ARGUMENTS_AT: readonly string[] = ['params', 'arguments'];

/** Text of the key between the offsets, which leave out its quotes. */
export type KeyText = (start: number, end: number) => string;

/** A member on the way to parameters, or one of these. */
interface Step {
  /** Which parameter it is, -1 for none. */
  param: number;
  readonly members: Map<string, Step>;
}

/** The ways to the parameters of one tool, from a message's root on. */
export class MirroredPaths {
  static readonly #known = new WeakMap<readonly MirroredParam[], MirroredPaths>();

  /** Made once for each tool. */
  static of(params: readonly MirroredParam[]): MirroredPaths {
    let paths = MirroredPaths.#known.get(params);
    if (paths === undefined) MirroredPaths.#known.set(params, (paths = new MirroredPaths(params)));
    return paths;
  }

  /** How deep the parameters are. */
  readonly depth: number;
  readonly #root: Step = { param: -1, members: new Map() };
  readonly #paramCount: number;
  /** Members that have others on the way. */
  readonly #containers = new Set<string>();
  /** What a key has at most that is one of these names, in bytes. */
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

  /** Whether a container with this key may be on the way to a parameter. */
  mayLead(keyStart: number, keyEnd: number, keyText: KeyText): boolean {
    return keyEnd - keyStart <= this.#keyBytesMax && this.#containers.has(keyText(keyStart, keyEnd));
  }

  /** The node of each parameter, -1 for one that is not there. Two of one name are none: nobody knows which of them the backend takes. */
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
