// How files of the console are served, with files that a test makes up. The built console is in console.test.ts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fastify, type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { faultOf } from '../../../src/control-plane/http/answered-error.js';
import { mountConsoleRoutes, readConsole } from '../../../src/control-plane/http/routes/console-routes.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';

async function appOf(t: Test, files: Readonly<Record<string, string>>): Promise<FastifyInstance> {
  const directory = createScratchDirectory(t);
  mkdirSync(join(directory, 'assets'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const { status = 500, message } = faultOf(error) ?? {};
    void reply.code(status).send({ detail: message });
  });
  mountConsoleRoutes(app, readConsole(directory));
  t.teardown(() => app.close());
  return app;
}

t.test('a file goes out in the best form that is there and that the caller takes', async (t) => {
  const app = await appOf(t, {
    ...{ 'index.html': 'plain', 'index.html.br': 'br', 'index.html.gz': 'gzip' },
    ...{ 'assets/a.js': 'plain a', 'assets/a.js.gz': 'gzip a', 'assets/b.css': 'plain b' },
  });
  const got = async (url: string, accepted?: string): Promise<unknown[]> => {
    const { payload, headers } = await app.inject({
      url,
      headers: { ...(accepted !== undefined && { 'accept-encoding': accepted }) },
    });
    return [payload, headers['content-encoding']];
  };
  for (const [accepted, form] of [
    ['gzip, deflate, br', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.0,gzip ; q=0.5', 'gzip'],
    ['br ;q=0.01', 'br'],
    ['gzip', 'gzip'],
    ['deflate', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const)
    t.same(await got('/ui', accepted), [form ?? 'plain', form], String(accepted));
  t.same(await got('/ui/assets/a.js', 'br, gzip'), ['gzip a', 'gzip']);
  t.same(await got('/ui/assets/b.css', 'br, gzip'), ['plain b', undefined]);
});

t.test('each kind of file has its type, and only names with a hash are kept', async (t) => {
  const YEAR = 'public, max-age=31536000, immutable';
  const rows = [
    ['index.html', '/ui', 'text/html; charset=utf-8', 'no-cache'],
    ['assets/a.js', '/ui/assets/a.js', 'text/javascript; charset=utf-8', 'no-cache'],
    ['assets/a-ABCD1234.js', '/ui/assets/a-ABCD1234.js', 'text/javascript; charset=utf-8', YEAR],
    ['assets/a-ABCD1234.css', '/ui/assets/a-ABCD1234.css', 'text/css; charset=utf-8', YEAR],
    ['assets/a-ABCD12345.svg', '/ui/assets/a-ABCD12345.svg', 'image/svg+xml', 'no-cache'],
    ['assets/a-ABCD1234.woff2', '/ui/assets/a-ABCD1234.woff2', 'font/woff2', YEAR],
  ] as const;
  const app = await appOf(t, Object.fromEntries(rows.map(([name]) => [name, name])));
  for (const [name, url, type, kept] of rows) {
    const { payload, headers } = await app.inject({ url });
    t.match(
      { payload, ...headers },
      { payload: name, 'content-type': type, 'cache-control': kept, vary: 'accept-encoding' },
    );
  }
});

t.test('the console’s pages get nothing from elsewhere, and are framed by nobody', async (t) => {
  const app = await appOf(t, { 'index.html': 'x' });
  const { headers } = await app.inject({ url: '/ui/servers/x' });
  t.equal(
    headers['content-security-policy'],
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
});

t.test('other files are not served, and what is missing is told', async (t) => {
  const app = await appOf(t, { 'index.html': 'x', 'assets/notes.txt': 'y' });
  for (const url of ['/ui/assets/notes.txt', '/ui/assets/none.js', '/ui/assets/'])
    t.match((await app.inject({ url })).json(), { detail: 'Not Found' }, url);
  t.equal((await app.inject({ url: '/ui/notes.txt' })).payload, 'x', 'a page like any other');
  const empty = await appOf(t, {});
  t.match((await empty.inject({ url: '/ui' })).json(), { detail: /npm run build/ });
  t.match((await empty.inject({ url: '/ui/servers' })).json(), { detail: 'Not Found' });
  const { statusCode, headers } = await app.inject({ url: '/' });
  t.same([statusCode, headers.location], [302, 'ui'], 'relative, as a proxy may have put something before it');
});
