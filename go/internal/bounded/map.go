// Package bounded has a map that forgets.
package bounded

import "container/list"

// Map forgets what was set longest ago once all that it holds weighs more than it may. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	most, weight int
	forgotten    int
	weightOf     func(V) int
	entries      map[K]*list.Element
	order        list.List
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// NewMap makes a map; an entry weighs 1 where weightOf is nil.
func NewMap[K comparable, V any](most int, weightOf func(V) int) *Map[K, V] {
	if weightOf == nil {
		weightOf = func(V) int { return 1 }
	}
	return &Map[K, V]{most: most, weightOf: weightOf, entries: map[K]*list.Element{}}
}

// Len is how many entries there are.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// Get gives the value of a key, and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	element, ok := m.entries[key]
	if !ok {
		return value, false
	}
	return element.Value.(entry[K, V]).value, true
}

// Set gives a key a value, which makes it the newest.
func (m *Map[K, V]) Set(key K, value V) {
	m.Delete(key)
	m.entries[key] = m.order.PushBack(entry[K, V]{key, value})
	m.weight += m.weightOf(value)
	for m.weight > m.most && m.order.Len() > 0 {
		m.Delete(m.order.Front().Value.(entry[K, V]).key)
		m.forgotten++
	}
}

// Limit says anew how much it may weigh, from the next time on that something is set.
func (m *Map[K, V]) Limit(most int) { m.most = most }

// Forgotten is how many entries it forgot so far.
func (m *Map[K, V]) Forgotten() int { return m.forgotten }

// Delete forgets a key.
func (m *Map[K, V]) Delete(key K) {
	element, ok := m.entries[key]
	if !ok {
		return
	}
	m.weight -= m.weightOf(element.Value.(entry[K, V]).value)
	m.order.Remove(element)
	delete(m.entries, key)
}
