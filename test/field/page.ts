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

export function pageOf(cells: readonly Cell[], versions: string): string {
  return `${HEAD}\n${versions}\n\n${tableOf(cells)}\n`;
}

export function tableOf(cells: readonly Cell[]): string {
  const [clients, servers] = [
    [...new Set(cells.map(({ client }) => client))],
    [...new Set(cells.map(({ server }) => server))],
  ];
  const notes: string[] = [];
  const numberOf = (note: string): number => {
    const known = notes.indexOf(note);
    return known === -1 ? notes.push(note) : known + 1;
  };
  const textOf = (outcome: Outcome | undefined): string => {
    if (outcome === undefined) return '';
    const { alikeCount, better, worse, neither } = outcome;
    if (worse.length > 0) return `**no** [${numberOf(worse[0]!)}]${worse.length > 1 ? ` +${worse.length - 1}` : ''}`;
    if (neither !== undefined) return `neither [${numberOf(neither)}]`;
    return better.length > 0 ? `better (${alikeCount}, +${better.length})` : `as directly (${alikeCount})`;
  };
  const rows = servers.map((server) => [
    server,
    ...clients.map((client) => textOf(cells.find((cell) => cell.client === client && cell.server === server)?.outcome)),
  ]);
  const table = [['server', ...clients], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const lines = table.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`);
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  const below = notes.map((note, at) => {
    const reason = REASONS.find(([kind]) => kind.test(note))?.[1];
    return `${at + 1}. \`${note.replaceAll('`', "'")}\`${reason === undefined ? '' : ` ${reason}`}`;
  });
  return [lines.join('\n'), ...(below.length > 0 ? [below.join('\n')] : [])].join('\n\n');
}
