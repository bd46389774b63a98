// The parts of docs/ that `npm run docs` generates from the sources: the tables of limits and options, and the responses of
// refusals. The text around them is written by hand, in the pages themselves.
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { commands } from '../../src/commands.js';
import { environmentVariable, fallbackText, optionsOf } from '../../src/config/option.js';
import { limits } from '../../src/shared/limits.js';
import { refusals, type Refusal } from '../../src/shared/refusals.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The commands whose options docs/options.md has. */
export const optionCommands = ['dataplane', 'control-plane', 'token'] as const;

/** A page as it is and as it should be, and what cannot be generated because its place or its text is missing. */
export interface Page {
  readonly name: string;
  readonly path: string;
  readonly current: string;
  readonly text: string;
  readonly faults: readonly string[];
}

export async function limitsPage(): Promise<Page> {
  const faults: string[] = [];
  const tables = Object.entries(limitRooms()).map(([room, comments]): [string, string] => {
    const rows = comments.map(([name, comment]) => {
      const [why, atLimit, ...more] = comment.split(' → ');
      if (why === undefined || atLimit === undefined || more.length > 0) {
        faults.push(`the comment before ${name} is not: what it bounds and why → what happens when it is hit`);
      }
      return [`\`${name}\``, valueText(name), why ?? '', atLimit ?? ''];
    });
    return [room, table(['Limit', 'Value', 'Why', 'When it is hit'], rows)];
  });
  return pageWith('limits.md', tables, faults);
}

export async function optionsPage(): Promise<Page> {
  const tables = optionCommands.map((command): [string, string] => {
    const rows = optionsOf(commands[command].options).map((option) => [
      `\`--${option.name} ${option.placeholder}\``,
      `\`${environmentVariable(option.name)}\``,
      fallbackText(option),
      option.meaning,
    ]);
    return [command, table(['Option', 'Environment variable', 'Default', 'Meaning'], rows)];
  });
  return pageWith('options.md', tables, []);
}

/** Of each row, the first three cells; and the examples of how refusals are sent. */
export async function errorsPage(): Promise<Page> {
  const path = join(root, 'docs/errors.md');
  const current = readFileSync(path, 'utf8');
  const faults: string[] = [];
  const rows = new Map(Object.values(refusals).map((refusal) => [refusal.code as string, refusal]));
  let text = current;
  for (const refusal of rows.values()) {
    const row = new RegExp(`^\\| \`${refusal.code}\` \\|.*\\| (.* \\| .*) \\|$`, 'm');
    if (!row.test(text)) faults.push(`docs/errors.md has no row "| \`${refusal.code}\` | … | when | do |"`);
    text = text.replace(row, (_, byHand: string) => `| ${refusalCells(refusal).join(' | ')} | ${byHand} |`);
  }
  text = text.replace(/^(`([a-z-]+)` .*:\n\n)```http\n[^]*?```$/gm, (all, head: string, code: string) => {
    const refusal = rows.get(code);
    return refusal === undefined ? all : `${head}\`\`\`http\n${wireText(refusal)}\n\`\`\``;
  });
  return { name: 'errors.md', path, current, text: await formatted(path, text), faults };
}

/** Code, status, and what tells the body and the headers to the byte. */
function refusalCells({ code, status, body, headers }: Refusal): readonly string[] {
  const texts = [bodyInWords(body)];
  for (let index = 0; index < headers.length; index += 2) texts.push(`\`${headers[index]}: ${headers[index + 1]}\``);
  return [`\`${code}\``, String(status), texts.join(', ')];
}

/** The form of the body, which is that of an example, and the words in it. */
function bodyInWords(body: string): string {
  const [, code, message] = /^{"jsonrpc":"2.0","error":{"code":(-\d+),"message":(".*")}}$/.exec(body) ?? [];
  const [, member, words] = /^{"(detail|status)":(".*")}$/.exec(body) ?? [];
  const json = message ?? words;
  return `${code ?? member ?? 'text'} \`${json === undefined ? body : (JSON.parse(json) as string)}\``;
}

export async function generatedPages(): Promise<Page[]> {
  return Promise.all([limitsPage(), optionsPage(), errorsPage()]);
}

/** By the heading of its table: a limit's name, and the first paragraph of the comment before it, in source order. */
function limitRooms(): Record<string, [name: string, comment: string][]> {
  const source = readFileSync(join(root, 'src/shared/limits.ts'), 'utf8');
  const [, ...rooms] = source.split(/^ {2}\/\/ ## /m);
  return Object.fromEntries(
    rooms.map((room) => {
      const members = room.matchAll(/^ {2}(?:\/\*\*((?:(?!\*\/)[^])*)\*\/\s+)?(\w+): /gm);
      const read = [...members].map(([, comment = '', name = '']): [string, string] => [name, firstParagraph(comment)]);
      return [room.slice(0, room.indexOf('\n')), read];
    }),
  );
}

function firstParagraph(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*/, '').trim());
  const [paragraph = ''] = lines.join('\n').trim().split('\n\n');
  return paragraph.replaceAll('\n', ' ');
}

/** A limit's value with its unit, which is part of the name. */
function valueText(name: string): string {
  const values: Readonly<Record<string, number>> = limits;
  const value = values[name] ?? NaN;
  const [unit] = /(Ms|Bytes|Chars)(?=[A-Z]|$)/.exec(name) ?? [];
  const number = (count: number): string => count.toLocaleString('en-US');
  if (unit === 'Ms') return `${number(value)} ms`;
  if (unit === 'Chars') return `${number(value)} characters`;
  if (unit !== 'Bytes') return number(value);
  if (value % 1024 !== 0 || value === 0) return `${number(value)} bytes`;
  return value % (1024 * 1024) === 0 ? `${number(value / (1024 * 1024))} MiB` : `${number(value / 1024)} KiB`;
}

/** The response as text: status line, headers, body. */
function wireText({ status, contentType, headers, body }: Refusal): string {
  const lines = [`${status} ${STATUS_CODES[status]}`, `content-type: ${contentType}`];
  for (let index = 0; index < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`);
  return [...lines, '', body].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Padded to the longest cell of each column, these tables would be twice as large. */
const UNPADDED = '<!-- prettier-ignore -->';

/** Each table follows a mark with its name; the table that is there is replaced. */
async function pageWith(name: string, tables: readonly (readonly [string, string])[], faults: string[]): Promise<Page> {
  const path = join(root, 'docs', name);
  const current = readFileSync(path, 'utf8');
  let text = current;
  for (const [title, rows] of tables) {
    const mark = `<!-- npm run docs: ${title} -->\n`;
    if (text.split(mark).length !== 2) faults.push(`docs/${name} must have one line "${mark.trim()}", for its table`);
    const at = text.indexOf(mark) + mark.length;
    text = `${text.slice(0, at)}${UNPADDED}\n${rows}\n${text.slice(at).replace(/^(?:<!-- prettier-ignore -->)?\n*(?:\|.*\n)*/, '')}`;
  }
  return { name, path, current, text: await formatted(path, text), faults };
}

async function formatted(path: string, text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), parser: 'markdown' });
}
