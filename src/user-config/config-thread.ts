// Entry of the thread that decodes and compiles large user configs; piscina calls it.
import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { UpstreamOptions } from '../config/index.js';
import { compileUserConfig } from './compile-config.js';
import { encodeConfig } from './config-rows.js';
import { decodeUserConfig } from './user-config-schema.js';

export interface ConfigTask {
  readonly value: Uint8Array;
  readonly upstreamMode: UpstreamOptions['mode'];
}

/** The result of a compilation: rows for `ConfigReader`, with warnings (`oddities`); or why the config is invalid (`issues`). */
export type ConfigOutcome = { readonly rows: Uint8Array; readonly oddities: string } | { readonly issues: string };

export default function compile({ value, upstreamMode }: ConfigTask): unknown {
  const decoding = decodeUserConfig(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  if (!decoding.ok) return { issues: decoding.issues } satisfies ConfigOutcome;
  const { oddities = '' } = decoding;
  // The rows are copied, because a Node `Buffer` may share its memory with others.
  const rows = Uint8Array.from(encodeConfig(compileUserConfig(decoding.config, upstreamMode)));
  return move({ [transferableSymbol]: [rows.buffer], [valueSymbol]: { rows, oddities } satisfies ConfigOutcome });
}
