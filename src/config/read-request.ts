// Makes a command's request: the values of its options, from their texts or defaults, and its operands. All faults are collected and
// reported at once.
import {
  isOption,
  isSection,
  optionsOf,
  OptionReader,
  type Schema,
  type CommandDeclaration,
  type CommandWords,
  type CommandRequest,
} from './option.js';
import { deepFreeze } from './values.js';

interface Declared<Options extends Schema, Names extends readonly string[]> extends Pick<CommandDeclaration, 'check'> {
  readonly options: Options;
  readonly operands?: Names;
}

/** Makes the request. @throws {OptionFaults} with all faults. */
export function readRequest<Options extends Schema, Names extends readonly string[]>(
  { options, operands, check }: Declared<Options, Names>,
  words: CommandWords,
): CommandRequest<Options, Names> {
  const reader = new OptionReader(words);
  for (const option of optionsOf(options)) reader.readOption(option);
  checkSections(options, reader);
  check?.(reader, words.operands);
  reader.throwFaults();
  const named = (operands ?? []).map((operand, index) => {
    const isRepeated = operand.endsWith('...');
    return [operand.replace(/\?$|\.{3}$/, ''), isRepeated ? words.operands.slice(index) : words.operands[index]];
  });
  return deepFreeze({ ...valuesIn(options, reader), ...Object.fromEntries(named) }) as CommandRequest<Options, Names>;
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
