// Converts what was typed into a form to the value that is sent. An entry is the content of a form element; empty entries are left out.
import type { FormField, JsonObject } from './schema-form.js';

/** The typed text; for a group its fields; for a list its entries; `undefined` for nothing. */
export type Entry = string | boolean | undefined | EntryGroup | readonly Entry[];
export interface EntryGroup {
  readonly [name: string]: Entry;
}

/** The fields that cannot be sent as they are: the reason in words, by the field's path. */
export type FieldFaults = ReadonlyMap<string, string>;

export interface FormValue {
  readonly value: JsonObject;
  readonly faults: FieldFaults;
}

export function valueOf(fields: readonly FormField[], entries: EntryGroup): FormValue {
  const faults = new Map<string, string>();
  return { value: groupValue(fields, entries, '', faults) ?? {}, faults };
}

/** The inverse of `valueOf`: the entries that show a value. */
export function entriesOf(fields: readonly FormField[], value: JsonObject): EntryGroup {
  return Object.fromEntries(fields.map((field) => [field.name, entryOf(field, value[field.name])]));
}

/** The initial entries of a form. */
export function blankEntries(fields: readonly FormField[]): EntryGroup {
  return Object.fromEntries(fields.map((field) => [field.name, blankEntry(field)]));
}

export function blankEntry(field: FormField): Entry {
  if (field.kind === 'group') return blankEntries(field.fields);
  return field.fallback === undefined ? undefined : entryOf(field, field.fallback);
}

function entryOf(field: FormField, value: unknown): Entry {
  if (field.kind === 'group') return value ? entriesOf(field.fields, value as JsonObject) : blankEntries(field.fields);
  if (value === undefined) return undefined;
  if (field.kind === 'boolean') return value === true;
  const { entry } = field;
  if (field.kind === 'list' && entry && Array.isArray(value)) return value.map((each) => entryOf(entry, each));
  return typeof value === 'string' && field.kind !== 'choice' && field.kind !== 'json' ? value : JSON.stringify(value);
}

/** `undefined` when nothing was typed into any field. */
function groupValue(
  fields: readonly FormField[],
  entries: EntryGroup,
  path: string,
  faults: Map<string, string>,
): JsonObject | undefined {
  const members = fields.flatMap((field) => {
    const place = path === '' ? field.name : `${path}.${field.name}`;
    const value = fieldValue(field, entries[field.name], place, faults);
    if (value === undefined && field.isRequired && field.kind !== 'group' && !faults.has(place)) {
      faults.set(place, 'is needed');
    }
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

function fieldValue(field: FormField, entry: Entry, path: string, faults: Map<string, string>): unknown {
  if (field.kind === 'group') {
    const value = groupValue(field.fields, isGroup(entry) ? entry : {}, path, faults);
    if (value !== undefined || field.isRequired) return value ?? {};
    // A group that is left out as a whole has no required fields.
    for (const place of [...faults.keys()]) if (place.startsWith(`${path}.`)) faults.delete(place);
    return undefined;
  }
  if (field.kind === 'list') return listValue(field, entry, path, faults);
  if (field.kind === 'boolean') return entry === true ? true : entry === false || field.isRequired ? false : undefined;
  const text = typeof entry === 'string' ? entry : '';
  if (field.kind === 'text' || field.kind === 'long-text') {
    return text === '' && !(field.isRequired && entry !== undefined) ? undefined : text;
  }
  if (text.trim() === '') return undefined;
  if (field.kind === 'number' || field.kind === 'integer') return numberValue(field, text.trim(), path, faults);
  try {
    return JSON.parse(text);
  } catch {
    faults.set(path, 'is not JSON');
    return undefined;
  }
}

function listValue(
  { entry: each, isRequired }: FormField,
  entry: Entry,
  path: string,
  faults: Map<string, string>,
): unknown {
  if (!Array.isArray(entry) || each === undefined) return isRequired ? [] : undefined;
  if (entry.length === 0 && !isRequired) return undefined;
  return (entry as readonly Entry[]).map((item, index) => {
    const place = `${path}.${index}`;
    const value = fieldValue(each, item, place, faults);
    if (value === undefined && !faults.has(place)) faults.set(place, 'is empty: fill it in or remove it');
    return value ?? null;
  });
}

function numberValue({ kind }: FormField, text: string, path: string, faults: Map<string, string>): number | undefined {
  const value = Number(text);
  if (Number.isFinite(value) && (kind === 'number' || Number.isInteger(value))) return value;
  faults.set(path, kind === 'number' ? 'must be a number' : 'must be a whole number');
  return undefined;
}

function isGroup(entry: Entry): entry is EntryGroup {
  return typeof entry === 'object' && !Array.isArray(entry);
}
