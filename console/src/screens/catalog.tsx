// The catalog: every subject that a source can publish.

import { BookOpen } from 'lucide-react'
import { Link, useLocation, useSearch } from 'wouter'
import { useCatalog, useDefinitions } from '../queries.ts'
import { Button, Chip, LinkButton } from '../ui/controls.tsx'
import { SearchInput } from '../ui/search.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const PAGE = 200

export default function Catalog() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const [source, q] = [search.get('source') ?? '', search.get('q') ?? '']
  const { data: sources } = useDefinitions('Source')
  const { data, error, refetch } = useCatalog({
    limit: PAGE,
    ...(source !== '' && { source }),
    ...(q !== '' && { q }),
  })
  const choose = (part: { readonly source?: string; readonly q?: string }) => {
    const next = new URLSearchParams()
    for (const [name, value] of Object.entries({ source, q, ...part }))
      if (value !== '') next.set(name, value)
    const query = next.toString()
    go(query === '' ? '/catalog' : `/catalog?${query}`, { replace: true })
  }
  return (
    <PageFrame
      title="Catalog"
      lead="The subjects that your sources can publish. A route on a subject that nobody can publish is found when definitions are checked."
    >
      <div className="toolbar" role="search">
        <SearchInput
          value={q}
          onChange={(next) => choose({ q: next })}
          label="Search subjects"
          placeholder="A subject, or what it is about"
        />
        <select
          className="input input--small"
          aria-label="Source"
          value={source}
          onChange={(event) => choose({ source: event.target.value })}
        >
          <option value="">All sources</option>
          {sources?.items.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div className="list">
        <div className="list__head catalog__grid" aria-hidden>
          <span>Subject</span>
          <span>About</span>
          <span>Source</span>
          <span>Schema</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
          <Empty
            icon={<BookOpen size={20} />}
            title={q === '' && source === '' ? 'The catalog is empty' : 'No subject fits'}
            action={
              q === '' && source === '' ? (
                <LinkButton to="/sources">Look at the sources</LinkButton>
              ) : (
                <Button onClick={() => choose({ q: '', source: '' })}>Clear the filters</Button>
              )
            }
          >
            Sources with a ready mapping bring their subjects along; others list theirs under ‘catalog’.
          </Empty>
        )}
        <ul aria-label="Subjects">
          {data?.items.map(({ subject, source: from, description, hasSchema }) => (
            <li key={`${from} ${subject}`}>
              <Link href={`/catalog/${encodeURIComponent(subject)}`} className="row catalog__grid" data-row>
                <span className="row__title mono truncate events__subject">{subject}</span>
                <span className="muted truncate catalog__about">{description}</span>
                <span className="muted truncate">{from}</span>
                <span>{hasSchema ? <Chip tone="green">schema</Chip> : <span className="faint">–</span>}</span>
              </Link>
            </li>
          ))}
        </ul>
        {data !== undefined && data.nextCursor !== null && (
          <div className="list__foot">There are more: search for the one you want.</div>
        )}
      </div>
    </PageFrame>
  )
}
