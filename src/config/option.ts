// One option: how it is written, what it means, its default, and how its text is parsed.

export interface Option<Value> {
  /** Shown after the option in `--help`, for example `<host:port>`. */
  readonly placeholder: string;
  readonly meaning: string;
  /** The text that is parsed when none is given; `undefined`: the option then has no value. */
  readonly fallback: string | undefined;
  /** How the documentation describes the default where its text says too little. */
  readonly fallbackText?: string;
  /** The value of an option given without one on the command line; if absent, that is a fault. */
  readonly textAlone?: string;
  /** Omitting the option is a fault. */
  readonly required?: true;
  /** Throws InvalidValue. */
  readonly parse: (text: string) => Value;
}

export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The environment variable that is read when the option is not on the command line. */
export function environmentVariable(name: string): string {
  return `SWITCHYARD_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The default in a form for people. */
export function fallbackText(option: Option<unknown>): string {
  return option.fallbackText ?? option.fallback ?? (option.required ? 'required' : 'none');
}

type ValueOf<O> = O extends { parse(text: string): infer Value }
  ? O extends { fallback: string } | { required: true }
    ? Value
    : Value | undefined
  : never;

/** The values of a table's options; `undefined` for one that was not given and has no default. */
export type OptionValues<Table extends OptionTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };
