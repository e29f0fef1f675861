// A net as users see it: drawn, or as a list that says the same in words.

import { lazy, Suspense, useState } from 'react'
import { formatDuration } from '../lib/durations.ts'
import { formatNumber } from '../lib/time.ts'
import {
  actionInWords,
  modeInWords,
  placeTypeInWords,
  transitionStateInWords,
} from '../lib/workflow-words.ts'
import type { Net } from '../types.ts'
import type { NetMarks } from './net-marks.ts'

const NetGraph = lazy(() => import('./net-graph.tsx'))

export function NetView({
  net,
  marks,
  label,
}: {
  readonly net: Net
  readonly marks: NetMarks
  readonly label: string
}) {
  const [isList, setIsList] = useState(false)
  return (
    <section className="net card" aria-label={label}>
      <div className="net__head">
        <Legend hasFired={marks.fired !== undefined} />
        <fieldset className="switch" aria-label="Shown as">
          {[false, true].map((one) => (
            <button
              key={String(one)}
              type="button"
              className="switch__option switch__option--text"
              aria-pressed={isList === one}
              onClick={() => setIsList(one)}
            >
              {one ? 'List' : 'Drawing'}
            </button>
          ))}
        </fieldset>
      </div>
      {isList ? (
        <NetList net={net} marks={marks} />
      ) : (
        <Suspense fallback={<div className="net__wait" role="status" aria-label="Loading" />}>
          <NetGraph net={net} marks={marks} />
        </Suspense>
      )}
    </section>
  )
}

function Legend({ hasFired }: { readonly hasFired: boolean }) {
  return (
    <ul className="net__legend" aria-hidden>
      {(['waiting', 'review', 'error', 'final'] as const).map((type) => (
        <li key={type}>
          <span className={`net__key net__key--${type}`} />
          {type}
        </li>
      ))}
      <li>
        <span className="net__key net__key--token" />
        tokens
      </li>
      {hasFired && (
        <li>
          <span className="net__key net__key--path" />
          its way
        </li>
      )}
    </ul>
  )
}

function NetList({ net, marks }: { readonly net: Net; readonly marks: NetMarks }) {
  return (
    <div className="net__lists">
      <div>
        <h3>Places</h3>
        <ul aria-label="Places">
          {net.places.map((place) => {
            const tokens = marks.tokens(place.name)
            return (
              <li key={place.name}>
                <Name
                  name={place.name}
                  isPressed={marks.selectedPlace === place.name}
                  {...(marks.onPlace !== undefined && { onPress: marks.onPlace })}
                />
                <span className="muted">
                  {placeTypeInWords(place.type)}
                  {place.name === net.start && ', the start'}
                  {place.timeout !== null &&
                    `, after ${formatDuration(place.timeout.afterMs)} fires ${place.timeout.fire}`}
                </span>
                {tokens > 0 && (
                  <strong className="num">
                    {formatNumber(tokens)} {tokens === 1 ? 'token' : 'tokens'}
                  </strong>
                )}
                {place.description !== null && <span className="faint net__about">{place.description}</span>}
              </li>
            )
          })}
        </ul>
      </div>
      <div>
        <h3>Transitions</h3>
        <ul aria-label="Transitions">
          {net.transitions.map((one) => {
            const fired = marks.fired?.get(one.name) ?? []
            const state = marks.states?.get(one.name)
            return (
              <li key={one.name}>
                <Name
                  name={one.name}
                  isPressed={marks.selectedTransition === one.name}
                  {...(marks.onTransition !== undefined && { onPress: marks.onTransition })}
                />
                <span className="muted">
                  {[...one.from, one.fromAny.length > 0 ? `one of ${one.fromAny.join(', ')}` : '']
                    .filter((text) => text !== '')
                    .join(' and ')}{' '}
                  → {one.to.join(', ')}
                </span>
                <span className="muted">
                  {modeInWords(one)}
                  {one.action !== null && `, ${actionInWords(one.action)}`}
                </span>
                {one.when !== null && <code className="net__when">{one.when}</code>}
                {fired.length > 0 && <strong className="num">firing {fired.join(', ')}</strong>}
                {state !== undefined && <strong>{transitionStateInWords(state)}</strong>}
                {one.description !== null && <span className="faint net__about">{one.description}</span>}
              </li>
            )
          })}
        </ul>
      </div>
    </div>
  )
}

function Name({
  name,
  isPressed,
  onPress,
}: {
  readonly name: string
  readonly isPressed: boolean
  readonly onPress?: (name: string) => void
}) {
  if (onPress === undefined) return <span className="net__item">{name}</span>
  return (
    <button
      type="button"
      className="link-button net__item"
      aria-pressed={isPressed}
      onClick={() => onPress(name)}
    >
      {name}
    </button>
  )
}
