// The catalog: every subject that a source can publish.

import { BookOpen } from 'lucide-react'
import { Button, Chip, LinkButton } from '../ui/controls.tsx'
import { filtersOf, useSourceNames } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const { search, name } = filtersOf('listCatalog')
const FILTERS = [
  search('q', 'Search subjects', 'A subject, or what it is about'),
  name('source', 'Source', 'All sources', useSourceNames),
]

const SUBJECTS: ListDeclaration<'listCatalog'> = {
  list: 'listCatalog',
  queryKey: 'catalog',
  label: 'Subjects',
  grid: 'catalog__grid',
  idOf: ({ source, subject }) => `${source} ${subject}`,
  hrefOf: ({ subject }) => `/catalog/${encodeURIComponent(subject)}`,
  columns: [
    {
      head: 'Subject',
      className: 'row__title mono truncate events__subject',
      cell: ({ subject }) => subject,
    },
    {
      head: 'About',
      className: 'muted truncate catalog__about',
      cell: ({ description }) => description,
    },
    { head: 'Source', className: 'muted truncate', cell: ({ source }) => source },
    {
      head: 'Schema',
      cell: ({ hasSchema }) =>
        hasSchema ? <Chip tone="green">schema</Chip> : <span className="faint">–</span>,
    },
  ],
}

export default function Catalog() {
  return (
    <PageFrame
      title="Catalog"
      lead="The subjects that your sources can publish. A route on a subject that nobody can publish is found when definitions are checked."
    >
      <ListView
        href="/catalog"
        declaration={SUBJECTS}
        filters={FILTERS}
        empty={(_, isNarrowed, clear) => (
          <Empty
            icon={<BookOpen size={20} />}
            title={isNarrowed ? 'No subject fits' : 'The catalog is empty'}
            action={
              isNarrowed ? (
                <Button onClick={clear}>Clear the filters</Button>
              ) : (
                <LinkButton to="/sources">Look at the sources</LinkButton>
              )
            }
          >
            Sources with a ready mapping bring their subjects along; others list theirs under "catalog".
          </Empty>
        )}
      />
    </PageFrame>
  )
}
