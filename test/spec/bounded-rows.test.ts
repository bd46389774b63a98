// Runs the files of rows about bounds in one process, as `all-rows.test.ts` does the others: they share deployments with
// short patience and small bodies.
import './answers.rows.js';
import './failure.rows.js';
import './order-of-checks.rows.js';
import './short-patience.rows.js';
