// Package seldom logs frequent events rarely.
package seldom

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const pause = time.Minute

// Losses logs how much is lost, at most once a minute.
type Losses struct {
	logger logr.Logger
	now    func() time.Time

	mu    sync.Mutex
	told  int64
	until time.Time
}

// NewLosses uses controller-runtime's logger if logger is zero.
func NewLosses(logger logr.Logger, now func() time.Time) *Losses {
	if logger.IsZero() {
		logger = log.Log.WithName("causeway")
	}
	return &Losses{logger: logger, now: now}
}

// Tell logs new losses, at most once a minute; lost is the total since the start.
func (l *Losses) Tell(what string, lost int64) {
	if more := l.untold(lost, false); more > 0 {
		l.logger.Info(what, "lost", more, "since the start", lost)
	}
}

// End logs new losses at once; lost is the total since the start.
func (l *Losses) End(what string, lost int64) {
	if more := l.untold(lost, true); more > 0 {
		l.logger.Info(what, "lost", more, "since the start", lost)
	}
}

func (l *Losses) untold(lost int64, isEnd bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if !isEnd && now.Before(l.until) {
		return 0
	}
	more := lost - l.told
	if more > 0 {
		l.told, l.until = lost, now.Add(pause)
	}
	return more
}
