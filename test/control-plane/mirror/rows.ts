// Rows with names and nothing else, as a control plane keeps its servers and compositions.
import { NamedMirror } from '../../../src/control-plane/mirror/named-mirror.js';

export interface Row {
  readonly id: string;
  readonly name: string;
}

export class Rows extends NamedMirror<Row> {
  protected override parse(value: Buffer): Row {
    return JSON.parse(value.toString()) as Row;
  }

  protected override onRowChange(): void {}
}

export function rowsOf(names: readonly string[]): Rows {
  const rows = new Rows('rows/');
  for (const [at, name] of names.entries())
    rows.put(`rows/${at}`, Buffer.from(JSON.stringify({ id: String(at), name })));
  return rows;
}
