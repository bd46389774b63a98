// Links between the documents of this repository lead somewhere: to an existing file, and to a heading in it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';
import { projectRoot } from '../support/gateway.js';

const PACKAGES = readdirSync(join(projectRoot, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join('src', name));
const FOLDERS = ['', 'docs', 'bench', 'deploy', 'test/attack', 'test/fleet', ...PACKAGES];

function documentsIn(folder: string): string[] {
  const path = join(projectRoot, folder);
  return existsSync(path)
    ? readdirSync(path)
        .filter((name) => name.endsWith('.md'))
        .map((name) => join(path, name))
    : [];
}

/** The text without fenced blocks and inline code: examples are not links. */
function proseOf(path: string): string {
  return readFileSync(path, 'utf8')
    .replace(/^```[^]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, 'x');
}

/** The anchors of a page's headings; the second of the same text has a number appended. */
function anchorsOf(path: string): ReadonlySet<string> {
  const text = readFileSync(path, 'utf8').replace(/^```[^]*?^```/gm, '');
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.matchAll(/^#{1,6} (.*)$/gm)) {
    const base = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-');
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

for (const path of FOLDERS.flatMap(documentsIn)) {
  t.test(relative(projectRoot, path), async (t) => {
    const links = [...proseOf(path).matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(([, link = '']) => link);
    for (const link of links) {
      const [file = '', anchor] = link.split('#', 2);
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(target)) t.fail(`${link}: there is no such file`);
      else if (anchor !== undefined && !anchorsOf(target).has(anchor)) t.fail(`${link}: there is no such heading`);
    }
    t.pass(`${links.length} links`);
  });
}
