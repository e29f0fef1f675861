import { describe, expect, test } from 'vitest'
import { makeBlockedSubjects } from './blocked-subjects.ts'

describe('subjects that the bus does not accept', () => {
  test('[BU33] it starts again only after the end was reached, and not sooner than the pass there took', () => {
    const blocked = makeBlockedSubjects()
    blocked.restartAt(0)
    blocked.add('a', false)
    blocked.pass(500)
    blocked.restartAt(60_000)
    expect([blocked.has('a'), blocked.after()]).toEqual([true, 500])
    blocked.reachEnd(60_000, 200)
    expect([blocked.isOnItsWay(), blocked.waitMs(60_000)]).toEqual([false, 60_000])
    blocked.restartAt(119_999)
    expect(blocked.has('a')).toBe(true)
    blocked.restartAt(120_000)
    expect([blocked.has('a'), blocked.after(), blocked.isEmpty()]).toEqual([false, undefined, true])
    blocked.add('a', false)
    blocked.reachEnd(120_000, 200)
    expect(blocked.waitMs(120_000)).toBe(200)
  })

  test('[BU33] the pass starts with the first that is not accepted, however long all went well before', () => {
    const blocked = makeBlockedSubjects()
    for (const now of [0, 1_000, 10_000_000]) blocked.restartAt(now)
    blocked.add('a', false)
    blocked.reachEnd(10_000_050, 200)
    expect(blocked.waitMs(10_000_050)).toBe(200)
    blocked.restartAt(10_000_250)
    expect(blocked.has('a')).toBe(false)
  })

  test('[BU33] none of very many is forgotten before its round is over, and few others are mistaken for one of them', () => {
    const blocked = makeBlockedSubjects()
    blocked.restartAt(0)
    const subjects = Array.from(
      { length: 150_000 },
      (_, index) => `acme.workflows.w.places.p.tokens.ins_${index}-1`,
    )
    for (const subject of subjects) blocked.add(subject, false)
    blocked.restartAt(1_000_000)
    expect(subjects.filter((subject) => !blocked.has(subject))).toEqual([])
    const others = Array.from({ length: 20_000 }, (_, index) => `acme.events.shop.paid.${index}`)
    const wronged = others.filter((subject) => blocked.has(subject))
    expect(wronged.length).toBeLessThan(100)
    blocked.clear()
    expect(subjects.some((subject) => blocked.has(subject))).toBe(false)
    // A subject that was mistaken for one of them is not in the next round.
    for (const subject of subjects) blocked.add(subject, false)
    expect(wronged.filter((subject) => blocked.has(subject)).length).toBeLessThan(Math.max(1, wronged.length))
  })
})
