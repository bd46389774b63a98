// Groups a coverage summary by file into the areas of the program, and says which of them have a floor.
import { relative, sep } from 'node:path';
import { renderTable } from '../../bench/table.js';

/** As the reporter `json-summary` writes it: by source path, and `total`. */
export type CoverageSummary = Readonly<Record<string, { readonly lines: LineCount }>>;

export interface LineCount {
  readonly total: number;
  readonly covered: number;
}

export interface CoveredFile extends LineCount {
  /** The path below `src/`. */
  readonly name: string;
}

export interface CoveredArea {
  readonly name: string;
  readonly hasFloor: boolean;
  readonly files: readonly CoveredFile[];
}

/** The percentage of lines that must have run in each area with a floor. */
export const FLOOR_PERCENT = 95;

/** A file belongs to the first area that has the folder that contains it. */
const AREAS: readonly { readonly name: string; readonly folders: readonly string[]; readonly hasFloor: boolean }[] = [
  { name: 'upstream', folders: ['upstream/', 'http-client/'], hasFloor: true },
  {
    name: 'relay',
    folders: ['relay/', 'exchange/', 'messages/', 'lists/', 'streams/', 'session/', 'calls/', 'modern/'],
    hasFloor: true,
  },
  { name: 'bytes', folders: ['bytes/'], hasFloor: true },
  { name: 'mcp', folders: ['mcp/'], hasFloor: true },
  { name: 'auth', folders: ['auth/'], hasFloor: true },
  { name: 'store', folders: ['store/'], hasFloor: true },
  { name: 'hop', folders: ['worker/hop/'], hasFloor: true },
  { name: 'worker', folders: ['worker/'], hasFloor: false },
  { name: 'control-plane', folders: ['control-plane/'], hasFloor: false },
  { name: 'primary', folders: ['primary/'], hasFloor: false },
  { name: 'others', folders: [''], hasFloor: false },
];

export function areasOf(summary: CoverageSummary, sourceFolder: string): CoveredArea[] {
  const filesOf = new Map(AREAS.map(({ name }) => [name, [] as CoveredFile[]]));
  for (const [path, { lines }] of Object.entries(summary)) {
    const name = relative(sourceFolder, path).split(sep).join('/');
    if (path === 'total' || name.startsWith('..')) continue;
    const area = AREAS.find(({ folders }) => folders.some((folder) => name.startsWith(folder)));
    if (area !== undefined) filesOf.get(area.name)?.push({ name, total: lines.total, covered: lines.covered });
  }
  return AREAS.map(({ name, hasFloor }) => ({ name, hasFloor, files: filesOf.get(name) ?? [] }));
}

/** An area without any covered file fails: nothing was measured then. */
export function isEnough(areas: readonly CoveredArea[]): boolean {
  return areas.every((area) => !area.hasFloor || percentOf(area) >= FLOOR_PERCENT);
}

export function areaTable(areas: readonly CoveredArea[]): string {
  return renderTable<CoveredArea>(
    [
      { title: 'Area', align: 'left', cell: ({ name }) => name },
      { title: 'Files', align: 'right', cell: ({ files }) => String(files.length) },
      { title: 'Lines', align: 'right', cell: (area) => String(sumOf(area).total) },
      { title: 'Ran, %', align: 'right', cell: (area) => percentOf(area).toFixed(1) },
      { title: 'Floor', align: 'left', cell: floorInWords },
    ],
    areas,
  );
}

function floorInWords(area: CoveredArea): string {
  if (!area.hasFloor) return 'none';
  return percentOf(area) >= FLOOR_PERCENT ? 'reached' : 'missed';
}

/** Only in areas with a floor. */
export function leastCovered(
  areas: readonly CoveredArea[],
  countMax: number,
): (CoveredFile & { readonly uncovered: number })[] {
  return areas
    .filter(({ hasFloor }) => hasFloor)
    .flatMap(({ files }) => files)
    .map((file) => ({ ...file, uncovered: file.total - file.covered }))
    .filter(({ uncovered }) => uncovered > 0)
    .sort((one, other) => other.uncovered - one.uncovered)
    .slice(0, countMax);
}

function percentOf(area: CoveredArea): number {
  const { covered, total } = sumOf(area);
  return total === 0 ? 0 : (100 * covered) / total;
}

function sumOf({ files }: CoveredArea): LineCount {
  let total = 0;
  let covered = 0;
  for (const file of files) {
    total += file.total;
    covered += file.covered;
  }
  return { total, covered };
}
