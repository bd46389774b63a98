// How a bench program starts and ends: a wrong command line is answered with the usage, and whatever the program started ends with it.

const EXIT_USAGE = 64;

/** Does not return. @param run returns the exit status. */
export async function runProgram<Options>(
  usage: string,
  parse: (words: readonly string[]) => Options,
  run: (options: Options) => Promise<number>,
): Promise<never> {
  // The processes that it started have process groups of their own, and would outlive the terminal, too.
  process.once('SIGHUP', () => process.exit(129));
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  let options: Options;
  try {
    options = parse(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exit(EXIT_USAGE);
  }
  // The children and the channels to them would keep the process alive; they are killed as it exits.
  try {
    process.exit(await run(options));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
