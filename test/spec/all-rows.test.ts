// Runs the files of rows in one process, so that all of them share one set of deployments: starting its fourteen processes takes
// longer than running most of these files. Each file can also be run alone, and then starts its own. The imports are static, so
// that all files are loaded before the first of them runs: tap takes a pause between two tests for the end.
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import './accept.rows.js';
import './alike.rows.js';
import './apps.rows.js';
import './as-directly-sessions.rows.js';
import './as-directly.rows.js';
import './backend-reasons.rows.js';
import './backend-requests.rows.js';
import './batches.rows.js';
import './curation.rows.js';
import './endpoints.rows.js';
import './eras.rows.js';
import './errors.rows.js';
import './experimental.rows.js';
import './large-lists.rows.js';
import './logging.rows.js';
import './look-alike-ids.rows.js';
import './malformed-http.rows.js';
import './messages.rows.js';
import './methods.rows.js';
import './modern-requests.rows.js';
import './modern-streams.rows.js';
import './names.rows.js';
import './passthrough-headers.rows.js';
import './prompts-resources.rows.js';
import './protocol.rows.js';
import './relaying.rows.js';
import './resumption.rows.js';
import './search.rows.js';
import './sessions.rows.js';
import './states.rows.js';
import './streams.rows.js';
import './tasks.rows.js';
import './user-config.rows.js';
import './versions.rows.js';

t.test('every file of rows is run, here or in bounded-rows.test.ts', async (t) => {
  const [here, other] = [new URL(import.meta.url), new URL('bounded-rows.test.js', import.meta.url)];
  const imported = [here, other].flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/^import ['"]\.\/(.+)['"];$/gm),
  ]);
  const files = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.rows.js'));
  t.same(imported.map(([, file]) => file).sort(), files.sort());
});
