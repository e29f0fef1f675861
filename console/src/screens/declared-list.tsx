// A list that has no screen of its own: its table is declared beside its route.

import { List } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import { useLocation } from 'wouter'
import {
  LIST_TABLES,
  memberOf,
  type ListTable as Table,
  type TabledList,
} from '../../../src/sdk/client/lists.generated.ts'
import { consumerFilter } from '../lib/links.ts'
import { StateChip, Time } from '../ui/controls.tsx'
import { filtersOnPage, useRouteNames } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const REFETCH_MS = 4_000

/** Of the list at this address. */
export default function DeclaredList() {
  const [href] = useLocation()
  const found = useMemo(() => screenAt(href), [href])
  if (found === undefined) return null
  const { title, about, empty, declaration, filters } = found
  return (
    <PageFrame title={title} lead={`${about[0]?.toUpperCase()}${about.slice(1)}.`}>
      <ListView
        href={href}
        declaration={declaration}
        filters={filters}
        empty={(_, isNarrowed) => (
          <Empty icon={<List size={20} />} title={isNarrowed ? 'None fits' : empty.replace(/\.$/, '')} />
        )}
      />
    </PageFrame>
  )
}

function screenAt(href: string) {
  for (const [operation, table] of Object.entries(LIST_TABLES)) {
    const { page, empty } = table
    if (page === undefined || href !== `/${page.command}`) continue
    const declaration = declarationOf(operation as TabledList, table)
    return { ...page, empty, declaration, filters: filtersFor(table) }
  }
  return undefined
}

function declarationOf(list: TabledList, { columns, page }: Table): ListDeclaration<TabledList> {
  return {
    list,
    queryKey: list,
    refetchMs: REFETCH_MS,
    label: page?.title ?? list,
    grid: 'declared__grid',
    idOf: (row) => JSON.stringify(columns.map(({ member }) => memberOf(row, member))),
    ...(page?.href !== undefined && {
      hrefOf: (row) => page.href?.replace(/\{([\w.]+)\}/g, (_, path) => String(memberOf(row, path))) ?? '/',
    }),
    columns: columns.map(({ title, member, as }, index) => ({
      head: `${title[0]}${title.slice(1).toLowerCase()}`,
      className: classOf(as, index),
      title: (row) => (as === 'text' ? String(memberOf(row, member) ?? '') : undefined),
      cell: (row) => cellOf(as, memberOf(row, member)),
    })),
  }
}

type Kind = Table['columns'][number]['as']

function classOf(as: Kind, index: number): string {
  if (as === 'state') return 'chips'
  if (as === 'number') return 'num'
  return index === 0 ? 'row__title truncate' : 'truncate muted'
}

function cellOf(as: Kind, value: unknown): ReactNode {
  if (value == null) return ''
  if (as === 'time') return <Time at={String(value)} />
  if (as === 'state') return <StateChip state={String(value)} />
  if (as === 'consumer') return consumerFilter(value as Parameters<typeof consumerFilter>[0])
  return String(value)
}

const filtersFor = ({ filters }: Table) =>
  filters.flatMap(({ name, choices }) => {
    const label = `${name[0]?.toUpperCase()}${name.slice(1)}`
    if (choices !== undefined) {
      const inWords = choices.map((one) => [one, one.replaceAll('_', ' ')] as const)
      return [filtersOnPage.choice(name, label, 'All', inWords)]
    }
    return name === 'consumer' ? [filtersOnPage.name(name, 'Route', 'All routes', useRouteNames)] : []
  })
