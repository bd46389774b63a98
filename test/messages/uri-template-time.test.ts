// How long the longest URI takes: apart from the other tests of templates, because it measures.
import t from 'tap';
import { UriMatcher, UriTemplate, TEMPLATE_VARIABLES_MAX } from '../../src/messages/uris.js';
import { limits } from '../../src/shared/limits.js';
import { TEMPLATES_TRIED_MAX } from '../../src/lists/grant.js';

t.test('the longest URI against as many templates as are tried: the URI is examined once', async (t) => {
  const runs = ['b', '/..x', '%2e'].map((piece) => {
    const uri = `a://${piece.repeat(limits.uriBytesMax)}`.slice(0, limits.uriBytesMax);
    const variables = '{x}b'.repeat(TEMPLATE_VARIABLES_MAX - 1);
    const templates = Array.from({ length: TEMPLATES_TRIED_MAX }, (_, index) => `a://${variables}{y}/${index}`);
    const durations = Array.from({ length: 20 }, () => {
      const startMs = performance.now();
      const matched = new UriMatcher(uri);
      for (const template of templates) matched.matches(new UriTemplate(template));
      return performance.now() - startMs;
    });
    // The least of many, as the first ones are not compiled yet.
    return Math.min(...durations);
  });
  t.ok(Math.max(...runs) < 5, `${runs.map((ms) => ms.toFixed(1)).join(', ')} ms`);
});
