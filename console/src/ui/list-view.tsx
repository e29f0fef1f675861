// A list of the API with its filters: what the table shows and what narrows it is declared once; the filters stay in the address.
// Their names and values are those of the API's operation, and the types require it.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { api } from '../api.ts'
import { withSearch } from '../lib/links.ts'
import { useMore } from '../lib/use-more.ts'
import { useOverview } from '../queries.ts'
import type { Args, ListName, Overview, Page, RowOf } from '../types.ts'
import { Tabs } from './controls.tsx'
import { Condition } from './filters.tsx'
import { ErrorState, LoadMore, SkeletonRows } from './surfaces.tsx'

// --- Filters

interface FilterProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

type ChoiceList = readonly (readonly [value: string, label: string])[]
type CountName = keyof Overview['counts'] & keyof Overview['isCapped']

type Filter = { readonly name: string } & (
  | {
      readonly as: 'tabs'
      readonly label: string
      readonly choices: ChoiceList
      /** The first tab, for everything; omitted: the first of the choices applies if nothing is said. */
      readonly all?: string
      /** The count of the overview beside a tab. */
      readonly counts?: Readonly<Record<string, CountName>>
    }
  | { readonly as: 'choice'; readonly label: string; readonly all: string; readonly choices: ChoiceList }
  /** Names that the node has, such as routes. */
  | {
      readonly as: 'name'
      readonly label: string
      readonly all: string
      readonly useNames: () => readonly string[]
    }
  /** It comes with the address and can be removed. */
  | { readonly as: 'condition'; readonly inWords: (value: string) => string }
  | { readonly as: 'own'; readonly Show: (props: FilterProps) => ReactNode }
)
type Tabbed = Extract<Filter, { readonly as: 'tabs' }>

type NameOf<List extends ListName> = keyof Args<List> & string
type Choices<List extends ListName, Name extends NameOf<List>> = readonly (readonly [
  NonNullable<Args<List>[Name]> & string,
  string,
])[]

/** What makes the filters of a list: their names and values are those of the API. */
export function filtersOf<List extends ListName>(_: List) {
  return {
    tabs: <Name extends NameOf<List>>(
      name: Name,
      label: string,
      choices: Choices<List, Name>,
      more: Pick<Tabbed, 'all' | 'counts'> = {},
    ): Filter => ({ as: 'tabs', name, label, choices, ...more }),
    choice: <Name extends NameOf<List>>(
      name: Name,
      label: string,
      all: string,
      choices: Choices<List, Name>,
    ): Filter => ({ as: 'choice', name, label, all, choices }),
    name: (name: NameOf<List>, label: string, all: string, useNames: () => readonly string[]): Filter => ({
      as: 'name',
      name,
      label,
      all,
      useNames,
    }),
    condition: (name: NameOf<List>, inWords: (value: string) => string): Filter => ({
      as: 'condition',
      name,
      inWords,
    }),
    own: (name: NameOf<List>, Show: (props: FilterProps) => ReactNode): Filter => ({ as: 'own', name, Show }),
  }
}

type Shown<As extends Filter['as']> = FilterProps & { readonly filter: Extract<Filter, { readonly as: As }> }

function FilterField({ filter, ...rest }: FilterProps & { readonly filter: Filter }): ReactNode {
  switch (filter.as) {
    case 'tabs':
      return <TabsFilter filter={filter} {...rest} />
    case 'choice':
      return <Select {...filter} {...rest} />
    case 'name':
      return <NameFilter filter={filter} {...rest} />
    case 'condition':
      if (rest.value === '') return null
      return <Condition text={filter.inWords(rest.value)} onRemove={() => rest.onChange('')} />
    case 'own':
      return <filter.Show {...rest} />
  }
}

function TabsFilter({ filter: { label, choices, all, counts = {} }, value, onChange }: Shown<'tabs'>) {
  const { data: overview } = useOverview()
  const countOf = (id: string) => {
    const count = counts[id]
    if (count === undefined || overview === undefined) return undefined
    return overview.isCapped[count] === true ? `${overview.counts[count]}+` : overview.counts[count]
  }
  const tabs: ChoiceList = all === undefined ? choices : [['', all], ...choices]
  return (
    <Tabs
      label={label}
      tabs={tabs.map(([id, text]) => ({ id, label: text, count: countOf(id) }))}
      selected={value}
      onSelect={onChange}
    />
  )
}

function NameFilter({ filter: { useNames, label, all }, value, onChange }: Shown<'name'>) {
  const names = useNames()
  // A name that is gone may still have something to show.
  const shown = value === '' || names.includes(value) ? names : [value, ...names]
  const choices = shown.map((one) => [one, one] as const)
  return <Select label={label} all={all} choices={choices} value={value} onChange={onChange} />
}

interface SelectProps extends FilterProps {
  readonly label: string
  readonly all: string
  readonly choices: ChoiceList
}

function Select({ value, onChange, label, all, choices }: SelectProps) {
  return (
    <select
      className="input input--small"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{all}</option>
      {choices.map(([id, text]) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** What applies if the address says nothing; empty: everything. */
function usualOf(filter: Filter): string {
  return filter.as === 'tabs' && filter.all === undefined ? (filter.choices[0]?.[0] ?? '') : ''
}

function mayBe(filter: Filter, value: string): boolean {
  return !('choices' in filter) || filter.choices.some(([one]) => one === value)
}

export type FilterValues = Readonly<Record<string, string>>

/** What the address says; a value that a filter does not take counts as not said. */
export function useFilters(
  href: string,
  filters: readonly Filter[],
): readonly [FilterValues, (name: string, value: string) => void] {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const values = Object.fromEntries(
    filters.map((filter) => {
      const said = search.get(filter.name) ?? ''
      return [filter.name, said !== '' && mayBe(filter, said) ? said : usualOf(filter)] as const
    }),
  )
  const change = (name: string, value: string) => {
    const next: FilterValues = { ...values, [name]: value }
    const said = filters.map(
      (one) => [one.name, next[one.name] === usualOf(one) ? '' : next[one.name]] as const,
    )
    go(withSearch(href, Object.fromEntries(said)), { replace: true })
  }
  return [values, change]
}

interface FilterBarProps {
  readonly filters: readonly Filter[]
  readonly values: FilterValues
  readonly onChange: (name: string, value: string) => void
  readonly children?: ReactNode
}

export function FilterBar({ filters, values, onChange, children }: FilterBarProps) {
  const show = (filter: Filter) => (
    <FilterField
      key={filter.name}
      filter={filter}
      value={values[filter.name] ?? ''}
      onChange={(value) => onChange(filter.name, value)}
    />
  )
  return (
    <>
      {filters.filter(({ as }) => as === 'tabs').map(show)}
      <div className="toolbar" role="search">
        {filters.filter(({ as }) => as !== 'tabs').map(show)}
        {children}
      </div>
    </>
  )
}

// --- The table

interface Column<Row> {
  readonly head: string
  /** Where the filter changes what it shows. */
  readonly headOf?: (filter: FilterValues) => string
  readonly className?: string
  readonly title?: (row: Row) => string | undefined
  readonly cell: (row: Row, filter: FilterValues) => ReactNode
  /** Left out if all rows have the same value by this filter. */
  readonly unless?: string
}

export interface ListDeclaration<List extends ListName> {
  /** The operation of the API. */
  readonly list: List
  /** The key by which the live stream reloads it. */
  readonly queryKey: string
  /** For what no change announces. */
  readonly refetchMs?: number
  /** For screen readers. */
  readonly label: string
  /** The class of its columns; with `--one` behind it if one of them is left out. */
  readonly grid: string
  readonly idOf: (row: RowOf<List>) => string
  readonly hrefOf: (row: RowOf<List>) => string
  readonly columns: readonly Column<RowOf<List>>[]
}

const PAGE = 50

interface ListTableProps<List extends ListName> {
  readonly declaration: ListDeclaration<List>
  /** Empty values are left out. */
  readonly filter: FilterValues
  readonly empty: ReactNode
}

/** Mounted again with another filter: its further pages belong to this one. */
export function ListTable<List extends ListName>(props: ListTableProps<List>) {
  return <Rows key={JSON.stringify(props.filter)} {...props} />
}

function Rows<List extends ListName>({ declaration, filter, empty }: ListTableProps<List>) {
  const { list, queryKey, refetchMs, label, grid, idOf, hrefOf, columns } = declaration
  const asked = {
    ...Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== '')),
    limit: PAGE,
  }
  const load = api[list] as unknown as (args: object) => Promise<Page<RowOf<List>>>
  const first = useQuery({
    queryKey: [queryKey, asked],
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
  // A page may be empty while there are more.
  if (items.length === 0 && !hasMore) return <div className="list">{empty}</div>
  const shown = columns.filter(({ unless }) => unless === undefined || (filter[unless] ?? '') === '')
  const classes = shown.length === columns.length ? grid : `${grid} ${grid}--one`
  return (
    <div className="list">
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
      <ul aria-label={label}>
        {items.map((row) => (
          <li key={idOf(row)}>
            <Link href={hrefOf(row)} className={`row ${classes}`} data-row>
              {shown.map(({ head, className, title, cell }) => (
                <span key={head} className={className} title={title?.(row)}>
                  {cell(row, filter)}
                </span>
              ))}
            </Link>
          </li>
        ))}
      </ul>
      <LoadMore hasMore={hasMore} isBusy={isBusy} onClick={loadMore} />
    </div>
  )
}

interface ListViewProps<List extends ListName> {
  readonly href: string
  readonly declaration: ListDeclaration<List>
  readonly filters: readonly Filter[]
  /** `isNarrowed`: by more than what applies anyway. */
  readonly empty: (filter: FilterValues, isNarrowed: boolean) => ReactNode
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
  const [values, change] = useFilters(href, filters)
  const isNarrowed = filters.some((filter) => values[filter.name] !== usualOf(filter))
  return (
    <>
      <FilterBar filters={filters} values={values} onChange={change}>
        {note?.(values)}
      </FilterBar>
      <ListTable declaration={declaration} filter={values} empty={empty(values, isNarrowed)} />
    </>
  )
}
