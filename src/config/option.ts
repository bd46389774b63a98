// What one option is: how it is written, what it means, what holds without it, and how its text is read.

export interface Option<Value> {
  /** What stands after the option in `--help`, as in `<host:port>`. */
  readonly placeholder: string;
  readonly meaning: string;
  /** The text that is read when none is given; `undefined`: the option stays without a value. */
  readonly fallback: string | undefined;
  /** How the documentation names the fallback where its text says too little. */
  readonly fallbackText?: string;
  /** The text that the option stands for when it has no value on the command line; without it, that is a fault. */
  readonly textAlone?: string;
  /** Leaving the option out is a fault. */
  readonly required?: true;
  /** Throws InvalidValue. */
  readonly parse: (text: string) => Value;
}

export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The environment variable that is read when the option is not on the command line. */
export function environmentVariable(name: string): string {
  return `SWITCHYARD_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The default as a person reads it. */
export function fallbackText(option: Option<unknown>): string {
  return option.fallbackText ?? option.fallback ?? (option.required ? 'required' : 'none');
}

type ValueOf<O> = O extends { parse(text: string): infer Value }
  ? O extends { fallback: string } | { required: true }
    ? Value
    : Value | undefined
  : never;

/** The values of a table's options: `undefined` for one that was not given and has no fallback. */
export type OptionValues<Table extends OptionTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };
