// The history of an instance from its start to now; a selected step shows the instance as it was then.

import {
  ArrowRightLeft,
  CircleCheck,
  CircleSlash,
  CircleX,
  Clock,
  FilePen,
  Hand,
  Key,
  LogIn,
  type LucideIcon,
  MessageSquare,
  Play,
  RotateCcw,
  Sparkles,
  Undo2,
  Zap,
} from 'lucide-react'
import { Link } from 'wouter'
import { entryInWords, entryTone } from '../lib/workflow-words.ts'
import type { HistoryEntry, InstanceDetail } from '../types.ts'
import { Step } from './timeline.tsx'

const ICONS: Readonly<Record<HistoryEntry['type'], LucideIcon>> = {
  created: Sparkles,
  updated: Zap,
  admitted: LogIn,
  began: Play,
  fired: Play,
  ended: CircleCheck,
  failed: CircleX,
  interrupted: CircleSlash,
  late: Clock,
  undone: Undo2,
  rolling_back: Undo2,
  timed_out: Clock,
  learned: Key,
  moved: Hand,
  edited: FilePen,
  cancelled: CircleSlash,
  retried: RotateCcw,
  migrated: ArrowRightLeft,
  noted: MessageSquare,
}

interface InstanceTimelineProps {
  readonly instance: InstanceDetail
  readonly selected: string | null
  readonly onSelect: (sequence: number) => void
}

export function InstanceTimeline({ instance, selected, onSelect }: InstanceTimelineProps) {
  const { history } = instance
  const first = history[0]?.sequence ?? 1
  return (
    <>
      {first > 1 && (
        <p className="faint spaced">
          The latest {history.length} steps; the API and the command line have the {first - 1} before.
        </p>
      )}
      <ol className="timeline story">
        {history.map((entry) => {
          const Icon = ICONS[entry.type]
          const isSelected = selected === String(entry.sequence)
          return (
            <Step
              key={entry.sequence}
              icon={<Icon size={14} />}
              tone={entryTone(entry)}
              at={entry.at}
              title={
                <button
                  type="button"
                  className="story__title"
                  aria-pressed={isSelected}
                  title="Show the instance as it was then"
                  onClick={() => onSelect(entry.sequence)}
                >
                  <span className="story__number num">{entry.sequence}</span> {entryInWords(entry)}
                </button>
              }
            >
              <Told entry={entry} />
            </Step>
          )
        })}
      </ol>
    </>
  )
}

function Told({ entry }: { readonly entry: HistoryEntry }) {
  const { took = [], put = [], changes = [], actor, comment, error, eventId, workId } = entry
  const { child, successor, predecessor } = entry
  const links = [eventId, workId, child, successor, predecessor]
  const isMove = took.length + put.length > 0
  const paths = changes.map(({ path }) => path)
  return (
    <>
      {isMove && (
        <div>
          {took.join(', ')} → {put.length > 0 ? put.join(', ') : '…'}
        </div>
      )}
      {error !== undefined && <div className="attempt__error mono">{error}</div>}
      {(actor !== undefined || comment !== undefined) && (
        <div>
          {actor !== undefined && `by ${actor}`}
          {comment !== undefined && <span className="story__comment">"{comment}"</span>}
        </div>
      )}
      {paths.length > 0 && (
        <div className="story__paths truncate" title={paths.join(', ')}>
          changed <span className="mono">{paths.slice(0, 3).join(', ')}</span>
          {paths.length > 3 && ` and ${paths.length - 3} more`}
        </div>
      )}
      {links.some((one) => one !== undefined) && (
        <div className="story__links">
          {eventId !== undefined && <Link href={`/events/${eventId}`}>event</Link>}
          {workId !== undefined && <Link href={`/work/${workId}`}>work item</Link>}
          {child !== undefined && <Link href={`/instances/${child}`}>instance that it started</Link>}
          {successor !== undefined && <Link href={`/instances/${successor}`}>instance that took over</Link>}
          {predecessor !== undefined && <Link href={`/instances/${predecessor}`}>instance before it</Link>}
        </div>
      )}
    </>
  )
}
