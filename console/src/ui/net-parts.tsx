// One place and one transition of a net, in its drawing. Each is a button if a click means something.

import {
  Clock,
  Code,
  Flag,
  Hand,
  Hourglass,
  type LucideIcon,
  OctagonAlert,
  ScanEye,
  Timer,
  Zap,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { ACTION_KINDS } from '../lib/action-kinds.generated.ts'
import { formatNumber } from '../lib/time.ts'
import { placeInWords, transitionInWords } from '../lib/workflow-words.ts'
import type { Net } from '../types.ts'
import type { NetMarks } from './net-marks.ts'

const PLACE_ICONS: Readonly<Record<Net['places'][number]['type'], LucideIcon | null>> = {
  normal: null,
  waiting: Hourglass,
  review: ScanEye,
  error: OctagonAlert,
  final: Flag,
}

const MODE_ICONS: Readonly<Record<string, LucideIcon>> = { manual: Hand, event: Zap, timer: Timer }

interface FaceProps {
  readonly net: Net
  readonly name: string
  readonly marks: NetMarks
}

export function PlaceFace({ net, name, marks }: FaceProps) {
  const place = net.places.find((one) => one.name === name)
  if (place === undefined) return null
  const tokens = marks.tokens(name)
  const Icon = PLACE_ICONS[place.type]
  const classes = ['net__place', `net__place--${place.type}`, tokens > 0 && 'net__place--marked']
  return (
    <Face
      className={classes.filter(Boolean).join(' ')}
      label={placeInWords(place, tokens, name === net.start)}
      isPressed={marks.selectedPlace === name}
      onPress={marks.onPlace === undefined ? undefined : () => marks.onPlace?.(name)}
    >
      {name === net.start && <span className="net__start" />}
      {Icon !== null && <Icon size={13} />}
      <span className="net__name">{name}</span>
      {place.timeout !== null && <Clock size={12} className="net__clock" />}
      {tokens > 0 && <span className="net__tokens num">{formatNumber(tokens)}</span>}
    </Face>
  )
}

export function TransitionFace({ net, name, marks }: FaceProps) {
  const transition = net.transitions.find((one) => one.name === name)
  if (transition === undefined) return null
  const state = marks.states?.get(name)
  const fired = marks.fired?.get(name) ?? []
  const Action = transition.action === null ? null : (ACTION_KINDS[transition.action]?.icon ?? Code)
  const mode = transition.on === 'auto' && !transition.isAutomatic ? 'event' : transition.on
  const Mode = MODE_ICONS[mode] ?? null
  const classes = ['net__transition', fired.length > 0 && 'net__transition--fired']
  if (state !== undefined) classes.push(`net__transition--${state}`)
  return (
    <Face
      className={classes.filter(Boolean).join(' ')}
      label={transitionInWords(transition, fired, state)}
      isPressed={marks.selectedTransition === name}
      onPress={marks.onTransition === undefined ? undefined : () => marks.onTransition?.(name)}
    >
      <span className="net__bar" />
      <span className="net__caption">
        {Mode !== null && <Mode size={12} />}
        {Action !== null && <Action size={12} />}
        <span className="net__name">{name}</span>
      </span>
      {fired.length > 0 && (
        <span className="net__fired num">
          {fired.length > 3 ? `${fired.slice(-2).join(', ')} …` : fired.join(', ')}
        </span>
      )}
    </Face>
  )
}

interface FaceButtonProps {
  readonly className: string
  readonly label: string
  readonly isPressed: boolean
  readonly onPress: (() => void) | undefined
  readonly children: ReactNode
}

function Face({ className, label, isPressed, onPress, children }: FaceButtonProps) {
  if (onPress === undefined) {
    return (
      <div className={className} role="img" aria-label={label} title={label}>
        {children}
      </div>
    )
  }
  return (
    <button
      type="button"
      className={`${className} nopan`}
      aria-label={label}
      aria-pressed={isPressed}
      title={label}
      onClick={onPress}
    >
      {children}
    </button>
  )
}
