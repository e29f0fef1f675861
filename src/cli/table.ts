// Tables: aligned columns that fit a terminal's width, or whole values without one.

import { cut, pad, widthOf } from './text.ts'

export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** May be cut down to this many columns if the table is too wide; others are always whole. */
  readonly min?: number
}

export interface Cell {
  readonly text: string
  /** Colours the text after it was cut and padded. */
  readonly paint?: (text: string) => string
}

export interface TableOptions {
  /** null: nothing is cut. */
  readonly width: number | null
  readonly paintTitle?: (text: string) => string
}

const GAP = '  '

export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): readonly string[] {
  const widths = fitWidths(columns, rows, options.width)
  const render = (cells: readonly Cell[]) =>
    columns
      .map(({ align }, index) => {
        const cell = cells[index] ?? { text: '' }
        const width = widths[index] ?? 0
        const text = options.width === null ? cell.text : cut(cell.text, width)
        const isLast = index === columns.length - 1
        const padded = isLast && align !== 'right' ? text : pad(text, width, align ?? 'left')
        return cell.paint === undefined ? padded : cell.paint(padded)
      })
      .join(GAP)
      .trimEnd()
  const titles = columns.map(({ title }) => ({
    text: title,
    ...(options.paintTitle !== undefined && { paint: options.paintTitle }),
  }))
  return [titles, ...rows].map(render)
}

/** As wide as needed; then the widest column that may shrink is narrowed, step by step. */
function fitWidths(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number | null,
): number[] {
  const widths = columns.map(({ title }, index) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[index]?.text ?? '')), widthOf(title)),
  )
  if (width === null) return widths
  const total = () => widths.reduce((sum, one) => sum + one, 0) + GAP.length * (columns.length - 1)
  for (let over = total() - width; over > 0; over -= 1) {
    let widest = -1
    for (const [index, column] of columns.entries()) {
      const now = widths[index] ?? 0
      if (column.min === undefined || now <= column.min) continue
      if (widest < 0 || now > (widths[widest] ?? 0)) widest = index
    }
    if (widest < 0) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}
