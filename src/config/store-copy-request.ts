// The `store copy` command: what to copy, and where to.
import { storeCopyOptionTable } from './cli-option-table.js';
import type { CommandWords } from './command.js';
import { OptionReader } from './option-reader.js';

export interface StoreCopyRequest {
  readonly isJson: boolean;
  /** Both are directories. */
  readonly from: string;
  readonly to: string;
}

/** @throws {OptionFaults} with every fault. */
export function loadStoreCopyRequest(
  words: CommandWords,
  environment: NodeJS.ProcessEnv = process.env,
): StoreCopyRequest {
  const values = new OptionReader(storeCopyOptionTable, words, environment).finish();
  return { isJson: values.json, from: values['store-path'], to: words.operands[0] ?? '' };
}
