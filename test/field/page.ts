// docs/field.md: a row for each server, a column for each client; what lies behind a cell's number stands below.
import type { Outcome } from './outcome.js';

export interface Cell {
  readonly client: string;
  readonly server: string;
  readonly outcome: Outcome;
}

const HEAD = `# Servers and clients in the field

\`npm run field\` writes this page. It starts public MCP servers, servers on the SDKs of three languages, and lists of
tools in the shapes of well-known servers. Each client carries out the same steps with each server twice, directly and
through a dataplane: it lists tools, prompts, resources and templates, calls tools, counts in its session, follows
progress, answers a question, gets a prompt, reads resources. The two are compared to the letter, but for the prefixes.

- **as directly (n)**: the n steps that work directly give the same through the gateway; what fails directly fails.
- **better (n, +m)**: as directly, and m more steps work, such as those of a client of one era with a server of the other.
- **neither**: the two do not work together, with or without the gateway.
- **no**: something is worse; the note says what is first, and the number how many more steps are. \`npm run field\` then ends with exit status 1.
`;

/** Why a difference of this kind is there. */
const REASONS: readonly (readonly [RegExp, string])[] = [[/'one-/, 'The gateway lists no tool.']];

/** A cell as it stands in the table, with `[]` in place of the number of its note. */
interface Said {
  readonly text: string;
  readonly note?: string | undefined;
}

/** @param before the page whose other cells are kept; `''` for none. */
export function pageOf(cells: readonly Cell[], versions: string, before = ''): string {
  return `${HEAD}\n${versions}\n\n${tableOf(cells, before)}\n`;
}

export function tableOf(cells: readonly Cell[], before = ''): string {
  const said = saidIn(before);
  for (const { client, server, outcome } of cells)
    said.set(server, (said.get(server) ?? new Map<string, Said>()).set(client, saidOf(outcome)));
  const clients = [...new Set([...said.values()].flatMap((row) => [...row.keys()]))];
  const notes: string[] = [];
  const textOf = ({ text, note }: Said = { text: '' }): string => {
    if (note === undefined) return text;
    if (!notes.includes(note)) notes.push(note);
    return text.replace('[]', `[${notes.indexOf(note) + 1}]`);
  };
  const rows = [...said].map(([server, row]) => [server, ...clients.map((client) => textOf(row.get(client)))]);
  const table = [['server', ...clients], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const lines = table.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`);
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  const below = notes.map((note, at) => `${at + 1}. ${note}`);
  return [lines.join('\n'), ...(below.length > 0 ? [below.join('\n')] : [])].join('\n\n');
}

function saidOf({ alikeCount, better, worse, neither }: Outcome): Said {
  const [note] = worse;
  if (note !== undefined)
    return { text: `**no** []${worse.length > 1 ? ` +${worse.length - 1}` : ''}`, note: withReason(note) };
  if (neither !== undefined) return { text: 'neither []', note: withReason(neither) };
  return { text: better.length > 0 ? `better (${alikeCount}, +${better.length})` : `as directly (${alikeCount})` };
}

function withReason(note: string): string {
  const reason = REASONS.find(([kind]) => kind.test(note))?.[1];
  return `\`${note.replaceAll('`', "'")}\`${reason === undefined ? '' : ` ${reason}`}`;
}

/** What stands in a page: by server, by client. */
function saidIn(page: string): Map<string, Map<string, Said>> {
  const notes = new Map(Array.from(page.matchAll(/^(\d+)\. (.*)$/gm), ([, number = '', note = '']) => [number, note]));
  const [head = [], , ...rows] = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  const said = (cell: string): Said => ({
    text: cell.replace(/\[\d+\]/, '[]'),
    note: notes.get(/\[(\d+)\]/.exec(cell)?.[1] ?? ''),
  });
  return new Map(
    rows.map(([server = '', ...cells]) => [server, new Map(cells.map((cell, at) => [head[at + 1]!, said(cell)]))]),
  );
}
