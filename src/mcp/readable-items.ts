// Repairs listed items that official clients refuse: for one member of a wrong type, such a client refuses the whole list, with the items
// of all backends. Many servers do not say that arguments are an object, or write `null`, an empty list or text where something else
// belongs. Such a member is removed, or replaced if a client needs it. Hot path: one look at each member whose type is checked; a page is
// copied only if an item needs a repair.
import { cutsOf, edited, insertion, isKey, isStringEqual, jsonKind, JsonScanner, MemberNames } from '../bytes/index.js';
import type { Edit } from '../bytes/index.js';
import { KIB } from '../shared/index.js';
import type { ListKind, ListKindName } from './list-kinds.js';
import { isCompilable, mayNotCompile, type SchemaBudget } from './output-schema.js';

/** The deepest values that are looked at, counted from the item: `{"icons":[{"src":…}]}`. */
export const ITEM_DEPTH = 3;

/** The most bytes of result schemas on one page that are parsed to see whether they compile. Further doubtful ones are removed. */
export const PARSED_SCHEMA_BYTES_MAX = 256 * KIB;

/** What clients accept as a member's value; anything, if the member has no shape. All shapes have all fields, for speed in V8. */
interface Shape {
  /** The accepted kinds of `jsonKind`, as bits. */
  readonly kinds: number;
  /** A further check of values of an accepted kind. */
  readonly accepts: ((value: unknown) => boolean) | undefined;
  /** What replaces a value that is not accepted, as JSON; without it, the value is removed. */
  readonly replacement: Buffer | undefined;
  /** Set if the value is a schema: it must describe an object, and a schema of `results` must also compile. */
  readonly schema: 'arguments' | 'results' | undefined;
  /** The name of a string member without which an object is not accepted. */
  readonly requiredMember: string | undefined;
  /** The shape of every element of an array, or of every member of an object. */
  readonly each: Shape | undefined;
  /** The shapes of the members with `names`, in the same order. */
  readonly members: readonly Shape[];
  readonly names: MemberNames;
}

/** The most repairs on one page: each takes memory, and a hostile page may need a million. Further items that need one are left out. */
export const REPAIRS_MAX = 20_000;

/** The bytes of schemas that may still be parsed, and the repairs that may still be made, for one page. */
interface PageBudget extends SchemaBudget {
  parsedBytesLeft: number;
  repairsLeft: number;
}

const itemTape = new JsonScanner();

/**
 * Repairs a page. @param tape the tape of the page, with values up to `ITEM_DEPTH` below its items; less deep if `isCrowded`.
 * @param list the node of the array of items.
 * @param allowsAnyResult whether results may be of any type: neither the backend nor its client has sessions.
 * @param isCrowded whether the page has too many values for one tape; then each item is scanned by itself, and one with too many is left
 * out.
 * @returns the repaired page; `undefined` when no item needs a repair.
 */
export function withReadableItems(
  bytes: Buffer,
  tape: JsonScanner,
  list: number,
  kind: ListKind,
  allowsAnyResult: boolean,
  isCrowded: boolean,
): Buffer | undefined {
  const shape = allowsAnyResult && kind.name === 'tools' ? TOOL_WITH_ANY_RESULT : ITEMS[kind.name];
  if (shape === undefined) return undefined;
  const budget: PageBudget = {
    unicodeClasses: new Map(),
    parsedBytesLeft: PARSED_SCHEMA_BYTES_MAX,
    repairsLeft: REPAIRS_MAX,
  };
  const repairs = new Repairs(bytes, tape, budget);
  const { edits } = repairs;
  const leftOut = new Set<number>();
  const subtreeEnd = tape.next(list);
  for (let item = list + 1; item < subtreeEnd; item = tape.next(item)) {
    if (tape.kind(item) !== jsonKind.object) return undefined;
    if (!isCrowded) {
      if (!repairs.tryRepairItem(item, shape, kind)) leftOut.add(item);
      continue;
    }
    const offset = tape.start(item);
    const text = bytes.subarray(offset, tape.end(item));
    const own = new Repairs(text, itemTape, budget);
    if (!itemTape.scan(text, ITEM_DEPTH) || !own.tryRepairItem(0, shape, kind)) leftOut.add(item);
    else for (const { start, end, putIn } of own.edits) edits.push({ start: start + offset, end: end + offset, putIn });
  }
  if (leftOut.size > 0)
    for (const { start, end } of cutsOf(tape, list, (item) => leftOut.has(item)))
      edits.push({ start, end, putIn: NO_BYTES });
  return edits.length === 0 ? undefined : edited(bytes, edits);
}

class Repairs {
  readonly edits: Edit[] = [];
  readonly #bytes: Buffer;
  readonly #tape: JsonScanner;
  readonly #budget: PageBudget;
  #isOverBudget = false;

  constructor(bytes: Buffer, tape: JsonScanner, budget: PageBudget) {
    this.#bytes = bytes;
    this.#tape = tape;
    this.#budget = budget;
  }

  /** Repairs an item. @returns false when the page needs too many repairs: then this item gets none. */
  tryRepairItem(item: number, shape: Shape, { name, key, isNamed }: ListKind): boolean {
    const before = this.edits.length;
    this.#isOverBudget = false;
    this.#repairContents(item, shape);
    if (name === 'tools') this.#addMissing(item, 'inputSchema', ANY_KIND, () => INPUT_SCHEMA_MEMBER);
    else if (!isNamed) this.#addMissing(item, 'name', TEXT.kinds, () => this.#nameMemberFrom(item, key));
    if (this.#isOverBudget) this.edits.length = before;
    return !this.#isOverBudget;
  }

  /** Removes or replaces the members or elements that the shape of their object or array does not accept. */
  #repairContents(container: number, { each, members, names }: Shape): void {
    const tape = this.#tape;
    let removed: Set<number> | undefined;
    const subtreeEnd = tape.next(container);
    for (let child = container + 1; child < subtreeEnd && !this.#isOverBudget; child = tape.next(child)) {
      const wanted = each ?? this.#shapeOf(child, names, members);
      if (wanted === undefined) continue;
      if (this.#tryAccept(child, wanted)) {
        if (tape.next(child) !== child + 1) this.#repairContents(child, wanted);
      } else if (wanted.replacement !== undefined) this.#replace(child, wanted.replacement);
      else if (this.#tryCountRepair()) (removed ??= new Set()).add(child);
    }
    if (removed === undefined) return;
    for (const { start, end } of cutsOf(tape, container, (child) => removed.has(child)))
      this.edits.push({ start, end, putIn: NO_BYTES });
  }

  #tryCountRepair(): boolean {
    if (this.#budget.repairsLeft === 0) this.#isOverBudget = true;
    else this.#budget.repairsLeft -= 1;
    return !this.#isOverBudget;
  }

  /** Adds a member behind an item's others. An item without its key is refused later. */
  #addMissing(item: number, name: string, kinds: number, member: () => Buffer): void {
    const isEmpty = this.#tape.next(item) === item + 1;
    if (!isEmpty && this.#findMember(item, name, kinds) === -1) this.#insert(this.#tape.end(item) - 1, member());
  }

  #nameMemberFrom(item: number, key: string): Buffer {
    const node = this.#findMember(item, key, ANY_KIND);
    const json = node === -1 ? NO_BYTES : this.#bytes.subarray(this.#tape.start(node), this.#tape.end(node));
    return Buffer.concat([NAME_MEMBER, json]);
  }

  #shapeOf(member: number, names: MemberNames, shapes: readonly Shape[]): Shape | undefined {
    const start = this.#tape.keyStart(member);
    let candidates = names.candidates[this.#bytes[start]!]!;
    for (let index = 0; candidates !== 0; index++, candidates >>= 1)
      if ((candidates & 1) !== 0 && isKey(this.#bytes, start, this.#tape.keyEnd(member), names.all[index]!))
        return shapes[index];
    return undefined;
  }

  #tryAccept(node: number, { kinds, accepts, requiredMember, schema, replacement }: Shape): boolean {
    if (((kinds >> this.#tape.kind(node)) & 1) === 0) return false;
    if (requiredMember !== undefined && this.#findMember(node, requiredMember, TEXT.kinds) === -1) return false;
    if (accepts !== undefined && !accepts(this.#shortValue(node))) return false;
    if (schema === 'results' && !this.#compiles(node)) return false;
    return schema === undefined || this.#tryMakeObjectSchema(node, replacement);
  }

  /** Makes a schema that of an object, if it is not. @returns false if that cannot be done. */
  #tryMakeObjectSchema(schema: number, replacement: Buffer | undefined): boolean {
    const tape = this.#tape;
    const type = this.#findMember(schema, 'type', ANY_KIND);
    if (type === -1) {
      const more = this.#hasMemberOtherThan(schema, '$id') ? ',' : '';
      this.#insert(tape.start(schema) + 1, Buffer.from(`"type":"object"${more}`));
      return true;
    }
    const [start, end] = [tape.start(type), tape.end(type)];
    if (tape.kind(type) === jsonKind.string && isStringEqual(this.#bytes, start, end, 'object')) return true;
    const types = this.#shortValue(type);
    // The type of arguments is replaced, because they are an object anyway; not that of results, which would be checked against another
    // schema than the backend's.
    if (replacement === undefined || !Array.isArray(types) || !types.includes('object')) return false;
    this.#replace(type, OBJECT_TYPE);
    return true;
  }

  #compiles(schema: number): boolean {
    const json = this.#bytes.subarray(this.#tape.start(schema), this.#tape.end(schema));
    if (!mayNotCompile(json)) return true;
    this.#budget.parsedBytesLeft -= json.length;
    return this.#budget.parsedBytesLeft >= 0 && isCompilable(json, this.#budget);
  }

  /** The node of the last member of this name, which clients read, if its value is of one of the kinds; otherwise -1. */
  #findMember(object: number, name: string, kinds: number): number {
    const tape = this.#tape;
    let found = -1;
    const subtreeEnd = tape.next(object);
    for (let child = object + 1; child < subtreeEnd; child = tape.next(child))
      if (isKey(this.#bytes, tape.keyStart(child), tape.keyEnd(child), name))
        found = ((kinds >> tape.kind(child)) & 1) === 0 ? -1 : child;
    return found;
  }

  #hasMemberOtherThan(object: number, name: string): boolean {
    const tape = this.#tape;
    const subtreeEnd = tape.next(object);
    let child = object + 1;
    while (child < subtreeEnd && isKey(this.#bytes, tape.keyStart(child), tape.keyEnd(child), name))
      child = tape.next(child);
    return child < subtreeEnd;
  }

  /** A value as parsed; `undefined` for a long one. */
  #shortValue(node: number): unknown {
    const [start, end] = [this.#tape.start(node), this.#tape.end(node)];
    return end - start > PARSED_VALUE_BYTES_MAX ? undefined : JSON.parse(this.#bytes.toString('utf8', start, end));
  }

  #replace(node: number, putIn: Buffer): void {
    if (this.#tryCountRepair()) this.edits.push({ start: this.#tape.start(node), end: this.#tape.end(node), putIn });
  }

  #insert(at: number, putIn: Buffer): void {
    if (this.#tryCountRepair()) this.edits.push(insertion({ at, putIn }));
  }
}

const NO_BYTES = Buffer.alloc(0);
const OBJECT_TYPE = Buffer.from('"object"');
const OBJECT_SCHEMA = Buffer.from('{"type":"object"}');
const INPUT_SCHEMA_MEMBER = Buffer.concat([Buffer.from(',"inputSchema":'), OBJECT_SCHEMA]);
const NAME_MEMBER = Buffer.from(',"name":');
const [EMPTY_OBJECT, EMPTY_ARRAY] = [Buffer.from('{}'), Buffer.from('[]')];
const [OBJECT_KIND, ARRAY_KIND, ANY_KIND, NO_KIND] = [1 << jsonKind.object, 1 << jsonKind.array, -1, 0];
/** The longest value that is parsed to see whether it is accepted. */
const PARSED_VALUE_BYTES_MAX = KIB;

type ShapeDetails = Partial<Omit<Shape, 'kinds' | 'members' | 'names'>>;

function shape(kinds: number, details: ShapeDetails = {}, members: Readonly<Record<string, Shape>> = {}): Shape {
  const { accepts, replacement, schema, requiredMember, each } = details;
  const names = new MemberNames(...Object.keys(members));
  return { kinds, accepts, replacement, schema, requiredMember, each, members: Object.values(members), names };
}

function object(members: Readonly<Record<string, Shape>>, details: ShapeDetails = {}): Shape {
  return shape(OBJECT_KIND, details, members);
}

function oneOf(...words: readonly unknown[]): Shape {
  return shape(TEXT.kinds, { accepts: (value) => words.includes(value) });
}

function listOf(isElement: (value: unknown) => boolean): Shape {
  return shape(ARRAY_KIND, { accepts: (value) => Array.isArray(value) && value.every(isElement) });
}

const TEXT = shape(1 << jsonKind.string);
const NUMBER = shape(1 << jsonKind.number);
const BOOLEAN = shape(1 << jsonKind.boolean);
const OBJECT = object({});
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** The dialect of a schema that names none. */
const DIALECT = Buffer.from('"https://json-schema.org/draft/2020-12/schema"');
const $schema = shape(TEXT.kinds, { replacement: DIALECT });
const PROPERTY = object({}, { replacement: EMPTY_OBJECT });
const OBJECT_MEMBERS = {
  $schema,
  properties: object({}, { each: PROPERTY, replacement: EMPTY_OBJECT }),
  required: shape(ARRAY_KIND, { each: TEXT, replacement: EMPTY_ARRAY }),
};
const ARGUMENTS = object(OBJECT_MEMBERS, { schema: 'arguments', replacement: OBJECT_SCHEMA });
// Results have no `$id`, because a client uses the first schema with an id for all schemas with this id, also those of other backends.
const RESULTS = object({ ...OBJECT_MEMBERS, $id: shape(NO_KIND) }, { schema: 'results' });
const ICON = object(
  { src: TEXT, mimeType: TEXT, sizes: listOf((size) => typeof size === 'string'), theme: oneOf('light', 'dark') },
  { requiredMember: 'src' },
);
const SHOWN_MEMBERS = { title: TEXT, description: TEXT, icons: shape(ARRAY_KIND, { each: ICON }), _meta: OBJECT };
const HINTS = { readOnlyHint: BOOLEAN, destructiveHint: BOOLEAN, idempotentHint: BOOLEAN, openWorldHint: BOOLEAN };
const TOOL = {
  ...SHOWN_MEMBERS,
  annotations: object({ title: TEXT, ...HINTS }),
  execution: object({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
  inputSchema: ARGUMENTS,
};
const TOOL_WITH_ANY_RESULT = object({ ...TOOL, outputSchema: object({ $schema }) });
const ARGUMENT = object({ name: TEXT, title: TEXT, description: TEXT, required: BOOLEAN }, { requiredMember: 'name' });
const RESOURCE = object({
  ...SHOWN_MEMBERS,
  name: TEXT,
  mimeType: TEXT,
  size: shape(NUMBER.kinds, { accepts: Number.isInteger }),
  annotations: object({
    audience: listOf((role) => role === 'user' || role === 'assistant'),
    priority: shape(NUMBER.kinds, { accepts: (value) => Number(value) >= 0 && Number(value) <= 1 }),
    lastModified: shape(TEXT.kinds, { accepts: (value) => DATE_TIME.test(String(value)) }),
  }),
});
/** The shape of items for each kind of list; `undefined` if they are left as they are. */
const ITEMS: Readonly<Record<ListKindName, Shape | undefined>> = {
  tools: object({ ...TOOL, outputSchema: RESULTS }),
  prompts: object({ ...SHOWN_MEMBERS, arguments: shape(ARRAY_KIND, { each: ARGUMENT }) }),
  resources: RESOURCE,
  templates: RESOURCE,
  tasks: undefined,
};
