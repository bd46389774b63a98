// What a file of a group imports in place of tap: a test of its own, with its own hooks, limits and results.
import { testNamedIn } from './tests-by-file.js';

export default testNamedIn(import.meta.url);
