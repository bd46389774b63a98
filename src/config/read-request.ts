// Makes a command's request: the values of its options, from their texts or defaults, and its operands. Collects all faults, to report
// them at once.
import {
  environmentVariable,
  isOption,
  isSection,
  optionsOf,
  type Option,
  type OptionReader,
  type Schema,
  type CommandDeclaration,
  type CommandWords,
  type Request,
} from './option.js';
import { deepFreeze, InvalidValue, OptionFaults } from './values.js';

interface Declared<Options extends Schema, Names extends readonly string[]> extends Pick<CommandDeclaration, 'check'> {
  readonly options: Options;
  readonly operands?: Names;
}

/** Makes the request. @throws {OptionFaults} with all faults. */
export function readRequest<Options extends Schema, Names extends readonly string[]>(
  { options, operands, check }: Declared<Options, Names>,
  words: CommandWords,
): Request<Options, Names> {
  const reader = new RequestReader(words);
  for (const option of optionsOf(options)) reader.read(option);
  checkSections(options, reader);
  check?.(reader, words.operands);
  reader.throwFaults();
  const named = (operands ?? []).map((operand, index) => {
    const isRepeated = operand.endsWith('...');
    return [operand.replace(/\?$|\.{3}$/, ''), isRepeated ? words.operands.slice(index) : words.operands[index]];
  });
  return deepFreeze({ ...valuesIn(options, reader), ...Object.fromEntries(named) }) as Request<Options, Names>;
}

function checkSections(schema: Schema, reader: OptionReader): void {
  for (const node of Object.values(schema)) {
    if (isOption(node)) continue;
    checkSections(isSection(node) ? node.options : node, reader);
    if (isSection(node)) node.check(reader);
  }
}

function valuesIn(schema: Schema, reader: OptionReader): object {
  const members = Object.entries(schema).map(([member, node]) => {
    if (isOption(node)) return [member, reader.resolve(node)];
    return [member, isSection(node) ? node.combine(valuesIn(node.options, reader), reader) : valuesIn(node, reader)];
  });
  return Object.fromEntries(members) as object;
}

class RequestReader implements OptionReader {
  readonly #words: CommandWords;
  readonly #values = new Map<string, unknown>();
  readonly #faults: string[];

  constructor(words: CommandWords) {
    this.#words = words;
    this.#faults = [...words.faults];
  }

  get token(): string {
    return this.#words.token;
  }

  isGiven({ name }: Option<unknown>): boolean {
    return this.#words.given.has(name);
  }

  isOnCommandLine({ name }: Option<unknown>): boolean {
    const given = this.#words.given.get(name);
    return given !== undefined && given.variable === undefined;
  }

  value<Value>({ name }: Option<Value>): Value | undefined {
    // The value was parsed here: `read` may have parsed the text by the other plane's option of this name.
    return this.#values.get(name) as Value | undefined;
  }

  resolve<Value>(option: Option<Value>): Value {
    const { name, fallback } = option;
    if (!this.#values.has(name) && typeof fallback === 'object') this.#values.set(name, fallback.from?.(this));
    return this.value(option) as Value;
  }

  fault({ name }: Option<unknown>, problem: string): void {
    const variable = this.#words.given.get(name)?.variable;
    this.#faults.push(`--${name}${variable === undefined ? '' : ` (from ${variable})`}: ${problem}`);
  }

  faultGiven(options: readonly Option<unknown>[], problem: string): void {
    for (const option of options) if (this.isGiven(option)) this.fault(option, problem);
  }

  otherFault(words: string): void {
    this.#faults.push(words);
  }

  read(option: Option<unknown>): void {
    const { name, fallback, isRequired, parse } = option;
    const text = this.#words.given.get(name)?.text ?? (typeof fallback === 'string' ? fallback : undefined);
    if (text === undefined) {
      if (isRequired) this.fault(option, `is required; give it, or set ${environmentVariable(name)}`);
      return;
    }
    try {
      this.#values.set(name, parse(text));
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      this.fault(option, error.message);
    }
  }

  throwFaults(): void {
    if (this.#faults.length === 0) return;
    throw new OptionFaults(this.#faults, `\`switchyard ${this.#words.command} --help\` lists the options.`);
  }
}
