// The console as it is served: its size, its headers, and the response where it was not built.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { fastify, type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import {
  type ConsoleFiles,
  readConsole,
  mountConsoleRoutes,
} from '../../../src/control-plane/http/routes/console-routes.js';
import { faultOf } from '../../../src/control-plane/http/answered-error.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';

const FIRST_LOAD_BYTES_MAX = 250 * 1_024;
const directory = createScratchDirectory(t);
execFileSync(process.execPath, [
  fileURLToPath(new URL('../../../../scripts/build-ui.mjs', import.meta.url)),
  directory,
]);

async function appOf(t: Test, files: ConsoleFiles): Promise<FastifyInstance> {
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const { status = 500, message } = faultOf(error) ?? {};
    void reply.code(status).send({ detail: message });
  });
  mountConsoleRoutes(app, files);
  await app.ready();
  t.teardown(() => app.close());
  return app;
}

const assetsIn = (document: string): string[] =>
  [...document.matchAll(/(?:src|href)="(\/ui\/[^"]+)"/g)].map(([, url]) => url ?? '');

t.test('each page is the same document, which is not cached and may only run the console’s own scripts', async (t) => {
  const app = await appOf(t, readConsole(directory));
  const documents = await Promise.all(
    ['/ui', '/ui/', '/ui/servers/0a1b', '/ui/servers?search=x.js'].map((url) => app.inject({ url })),
  );
  for (const { statusCode, headers, payload } of documents) {
    t.equal(statusCode, 200);
    t.equal(payload, documents[0]?.payload);
    t.equal(headers['content-type'], 'text/html; charset=utf-8');
    t.equal(headers['cache-control'], 'no-cache');
    const policy = String(headers['content-security-policy']).split('; ');
    t.ok(policy.includes("default-src 'none'"));
    t.ok(policy.includes("script-src 'self'"));
    t.ok(policy.includes("style-src 'self'"));
    t.ok(policy.includes("img-src 'self' data:"));
    t.ok(policy.includes("connect-src 'self'"));
    t.notMatch(policy.join(), /unsafe|\*|https?:/);
    t.notMatch(payload, /<script(?![^>]* src=)|<style| on\w+=| style=/, 'nothing is inline');
    t.notMatch(payload, /(?:src|href)="(?!\/ui\/|data:,)/, 'nothing is from elsewhere');
  }
});

t.test('the address without a path leads to the console', async (t) => {
  const app = await appOf(t, readConsole(directory));
  const { statusCode, headers } = await app.inject({ url: '/' });
  t.equal(statusCode, 302);
  t.equal(new URL(String(headers['location']), 'http://127.0.0.1:4444/').pathname, '/ui');
});

t.test('assets are cached forever under names that contain their hash', async (t) => {
  const app = await appOf(t, readConsole(directory));
  const assets = assetsIn((await app.inject({ url: '/ui' })).payload);
  t.equal(assets.length, 4, 'a script, styles, a font and an icon');
  for (const url of assets) {
    const { statusCode, headers, payload } = await app.inject({ url });
    t.equal(statusCode, 200);
    t.match(headers['content-type'], /^(?:text\/(?:javascript|css); charset=utf-8|image\/svg\+xml|font\/woff2)$/);
    t.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
    if (headers['content-type'] === 'font/woff2') continue;
    const packed = await app.inject({ url, headers: { 'accept-encoding': 'gzip, deflate, br' } });
    t.equal(packed.headers['content-encoding'], 'br');
    t.equal(packed.headers['vary'], 'accept-encoding');
    t.equal(brotliDecompressSync(packed.rawPayload).toString(), payload);
    const zipped = await app.inject({ url, headers: { 'accept-encoding': 'br;q=0, gzip;q=0.5' } });
    t.equal(zipped.headers['content-encoding'], 'gzip');
    t.equal(gunzipSync(zipped.rawPayload).toString(), payload);
  }
});

t.test('the fonts that the styles name are there', async (t) => {
  const app = await appOf(t, readConsole(directory));
  const assets = assetsIn((await app.inject({ url: '/ui' })).payload);
  const { payload } = await app.inject({ url: assets.find((url) => url.endsWith('.css')) ?? '' });
  const fonts = [...payload.matchAll(/url\("\.\/([\w.-]+)"\)/g)].map(([, name = '']) => name);
  t.equal(fonts.length, 4, 'two fonts, each in two parts');
  for (const name of fonts) {
    const { headers, rawPayload } = await app.inject({ url: `/ui/assets/${name}` });
    t.equal(headers['content-type'], 'font/woff2');
    t.equal(rawPayload.toString('latin1', 0, 4), 'wOF2');
  }
});

t.test('paths lead to no other file', async (t) => {
  const app = await appOf(t, readConsole(directory));
  for (const url of ['/ui/assets/none.js', '/ui/assets/../../package.json', '/ui/assets/%2e%2e/index.html']) {
    const { payload } = await app.inject({ url });
    t.notMatch(payload, /"dependencies"/, url);
  }
  t.equal((await app.inject({ url: '/ui/assets/none.js' })).statusCode, 404);
});

t.test('the first load is small', async (t) => {
  const app = await appOf(t, readConsole(directory));
  const headers = { 'accept-encoding': 'gzip' };
  const urls = ['/ui', ...assetsIn((await app.inject({ url: '/ui' })).payload)];
  const sizes = await Promise.all(urls.map(async (url) => (await app.inject({ url, headers })).rawPayload.length));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  t.ok(bytes > 10_000, 'there is something in it');
  t.ok(bytes < FIRST_LOAD_BYTES_MAX, `${bytes} bytes`);
});

t.test('where the console was not built, the response says so', async (t) => {
  const app = await appOf(t, readConsole(`${directory}/none`));
  const { statusCode, payload } = await app.inject({ url: '/ui' });
  t.equal(statusCode, 404);
  t.match(payload, 'npm run build');
});
