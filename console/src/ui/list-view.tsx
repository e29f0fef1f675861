// Lists of the API as tables: what a row shows is declared once, and one component draws it.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type CSSProperties, memo, type ReactNode } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { useMore } from '../lib/use-more.ts'
import type { ListName, Page, RowOf } from '../types.ts'
import { type Filter, FilterBar, type FilterValues, useFilters } from './filters.tsx'
import { ErrorState, LoadMore, SkeletonRows } from './surfaces.tsx'

interface Column<Row> {
  readonly head: string
  /** Where the filter changes what it shows. */
  readonly headOf?: (filter: FilterValues) => string
  readonly className?: string
  /** Beside `className`, where the row decides. */
  readonly classOf?: (row: Row) => string
  readonly title?: (row: Row) => string | undefined
  readonly cell: (row: Row, filter: FilterValues) => ReactNode
  /** The cell is an element of its own, not what one holds. */
  readonly isElement?: true
  /** Left out if all rows have the same value by this filter. */
  readonly unless?: string
}

export interface TableDeclaration<Row> {
  /** For screen readers. */
  readonly label: string
  /** The class of its columns; with `--one` behind it if one of them is left out. */
  readonly grid: string
  readonly idOf: (row: Row) => string
  /** Omitted: a row leads nowhere. */
  readonly hrefOf?: (row: Row) => string
  readonly columns: readonly Column<Row>[]
}

export interface ListDeclaration<List extends ListName> extends TableDeclaration<RowOf<List>> {
  /** The operation of the API. */
  readonly list: List
  /** The key by which the live stream reloads it. */
  readonly queryKey: string
  /** For what no change announces. */
  readonly refetchMs?: number
  /** The operation answers with all of it, without pages. */
  readonly isWhole?: true
  /** The operation has no filters: the page applies them. */
  readonly fits?: (row: RowOf<List>, filter: FilterValues) => boolean
}

// --- The table

interface TableProps<Row> {
  readonly declaration: TableDeclaration<Row>
  readonly rows: readonly Row[]
  readonly filter: FilterValues
  /** Ids of rows that arrived by themselves. */
  readonly fresh?: ReadonlySet<string>
}

const isLeftOut = <Row,>({ unless }: Column<Row>, filter: FilterValues) =>
  unless !== undefined && (filter[unless] ?? '') !== ''

function shownOf<Row>({ columns, grid }: TableDeclaration<Row>, filter: FilterValues) {
  const shown = columns.filter((column) => !isLeftOut(column, filter))
  return { shown, classes: shown.length === columns.length ? grid : `${grid} ${grid}--one` }
}

/** Equal rows, such as two rejections of one instant, are counted. */
function keysOf(ids: readonly string[]): readonly string[] {
  const seen = new Map<string, number>()
  return ids.map((id) => {
    const count = (seen.get(id) ?? 0) + 1
    seen.set(id, count)
    return count === 1 ? id : `${id} ${count}`
  })
}

export function Table<Row>({ declaration, rows, filter, fresh }: TableProps<Row>) {
  const { shown, classes } = shownOf(declaration, filter)
  const ids = rows.map(declaration.idOf)
  const keys = keysOf(ids)
  return (
    <>
      <div className={`list__head ${classes}`} aria-hidden>
        {shown.map(({ head, headOf, className }) => (
          <span
            key={head}
            className={className?.includes('events__when') === true ? 'events__when' : undefined}
          >
            {headOf?.(filter) ?? head}
          </span>
        ))}
      </div>
      <ul aria-label={declaration.label}>
        {rows.map((row, index) => (
          <TableRow
            key={keys[index]}
            row={row}
            declaration={declaration}
            filter={filter}
            isNew={fresh?.has(ids[index] ?? '') === true}
          />
        ))}
      </ul>
    </>
  )
}

interface RowProps<Row> {
  readonly row: Row
  readonly declaration: TableDeclaration<Row>
  readonly filter: FilterValues
  readonly isNew: boolean
}

function RowOnce<Row>({ row, declaration, filter, isNew }: RowProps<Row>) {
  const { shown, classes } = shownOf(declaration, filter)
  const className = isNew ? `row ${classes} row--new` : `row ${classes}`
  const cells = shown.map((column) => <Cell key={column.head} column={column} row={row} filter={filter} />)
  const href = declaration.hrefOf?.(row)
  if (href === undefined) return <li className={className}>{cells}</li>
  return (
    <li>
      <Link href={href} className={className} data-row>
        {cells}
      </Link>
    </li>
  )
}
/** A burst of changes draws the rows that it changed. */
const TableRow = memo(RowOnce) as typeof RowOnce

interface CellProps<Row> {
  readonly column: Column<Row>
  readonly row: Row
  readonly filter: FilterValues
}

function Cell<Row>({ column, row, filter }: CellProps<Row>) {
  const { className, classOf, title, cell, isElement } = column
  if (isElement) return cell(row, filter)
  const classes = [className, classOf?.(row)].filter((one) => one !== undefined && one !== '').join(' ')
  return (
    <span className={classes === '' ? undefined : classes} title={title?.(row)}>
      {cell(row, filter)}
    </span>
  )
}

// --- A list

const PAGE = 50

/** What is asked of the API: empty values are left out. */
export const askedBy = (filter: FilterValues): FilterValues =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''))

interface ListTableProps<List extends ListName> {
  readonly declaration: ListDeclaration<List>
  readonly filter: FilterValues
  readonly empty: ReactNode
}

/** Mounted again when something else is asked: its further pages belong to this filter. */
export function ListTable<List extends ListName>(props: ListTableProps<List>) {
  return <Rows key={JSON.stringify(conditionsOf(props))} {...props} />
}

/** Of the API; what the page applies is not among them. */
function conditionsOf<List extends ListName>({ declaration, filter }: ListTableProps<List>): FilterValues {
  return declaration.fits === undefined ? askedBy(filter) : {}
}

function Rows<List extends ListName>(props: ListTableProps<List>) {
  const { declaration, filter, empty } = props
  const { list, queryKey, refetchMs, isWhole, fits, idOf } = declaration
  const asked = isWhole === true ? conditionsOf(props) : { ...conditionsOf(props), limit: PAGE }
  const load = api[list] as unknown as (args: object) => Promise<Page<RowOf<List>>>
  const first = useQuery({
    queryKey: Object.keys(asked).length === 0 ? [queryKey] : [queryKey, asked],
    queryFn: () => load(asked),
    placeholderData: keepPreviousData,
    ...(refetchMs !== undefined && { refetchInterval: refetchMs }),
  })
  const { items, hasMore, isBusy, loadMore } = useMore(first.data, idOf, (cursor) =>
    load({ ...asked, cursor }),
  )
  if (first.data === undefined) {
    if (first.error === null) return <SkeletonRows />
    return <ErrorState error={first.error} onRetry={() => void first.refetch()} />
  }
  const rows = fits === undefined ? items : items.filter((row) => fits(row, filter))
  // A page may be empty while there are more.
  if (rows.length === 0 && !hasMore) return <div className="list">{empty}</div>
  return (
    <div className="list" style={{ '--columns': declaration.columns.length } as CSSProperties}>
      <Table declaration={declaration} rows={rows} filter={filter} />
      <LoadMore hasMore={hasMore} isBusy={isBusy} onClick={loadMore} />
    </div>
  )
}

interface ListViewProps<List extends ListName> {
  readonly href: string
  readonly declaration: ListDeclaration<List>
  readonly filters: readonly Filter[]
  readonly empty: (filter: FilterValues, isNarrowed: boolean, clear: () => void) => ReactNode
  /** Beside the filters. */
  readonly note?: (filter: FilterValues) => ReactNode
}

/** Filters and table of a whole page. */
export function ListView<List extends ListName>({
  href,
  declaration,
  filters,
  empty,
  note,
}: ListViewProps<List>) {
  const { values, change, clear, isNarrowed } = useFilters(href, filters)
  return (
    <>
      <FilterBar filters={filters} values={values} onChange={change}>
        {note?.(values)}
      </FilterBar>
      <ListTable declaration={declaration} filter={values} empty={empty(values, isNarrowed, clear)} />
    </>
  )
}
