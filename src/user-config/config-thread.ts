// The entry point, called by piscina, of the thread in which large user configs are decoded and compiled.
import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { UpstreamOptions } from '../config/index.js';
import { compileUserConfig } from './compile-config.js';
import { encodeConfig } from './config-rows.js';
import { decodeUserConfig } from './user-config-schema.js';

export interface ConfigTask {
  /** As stored. */
  readonly value: Uint8Array;
  readonly upstreamMode: UpstreamOptions['mode'];
}

/** A compiled config, encoded for `ConfigReader`, with warnings about it (`oddities`), or why it was rejected (`issues`). */
export type ConfigOutcome = { readonly rows: Uint8Array; readonly oddities: string } | { readonly issues: string };

export default function compile({ value, upstreamMode }: ConfigTask): unknown {
  const decoding = decodeUserConfig(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  if (!decoding.ok) return { issues: decoding.issues } satisfies ConfigOutcome;
  const { oddities = '' } = decoding;
  // Copied, because a Node `Buffer` may share its memory with others.
  const rows = Uint8Array.from(encodeConfig(compileUserConfig(decoding.config, upstreamMode)));
  return move({ [transferableSymbol]: [rows.buffer], [valueSymbol]: { rows, oddities } satisfies ConfigOutcome });
}
