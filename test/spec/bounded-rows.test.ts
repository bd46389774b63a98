// Runs the files of rows about bounds in one process, as `all-rows.test.ts` does with the others: they share deployments with short
// timeouts and small bodies.
import './answers.rows.js';
import './failure.rows.js';
import './order-of-checks.rows.js';
import './short-patience.rows.js';
