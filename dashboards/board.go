package dashboards

import (
	"bytes"
	"encoding/json"
)

const (
	width  = 24 // of a dashboard
	height = 7  // of a panel
)

// Board is a dashboard before it is rendered for a data source.
type Board struct {
	name        string // in file names and identifiers
	title       string
	description string
	rows        []row
}

// row is a headline with panels below it, which share its width.
type row struct {
	title  string
	panels []panel
}

// panel is a picture of some metrics.
type panel struct {
	title   string
	note    string // what is not clear from the title
	kind    kind
	unit    string // of Grafana; that of the metrics
	metrics []curve
	max     float64 // 0: whatever comes
	alarm   [2]float64
}

// curve is a metric with its legend; that of instances is their name.
type curve struct{ metric, legend string }

// kind is how a panel shows values.
type kind int

const (
	lines  kind = iota
	stack       // lines on top of each other
	bars        // the last values, with colours from alarm on
	number      // likewise, in figures
)

// perInstance is the legend of metrics with instances.
const perInstance = "$instance"

// FileName is the name of the file of a dashboard.
func (b Board) FileName(s Source) string { return b.uid(s) + ".json" }

func (b Board) uid(s Source) string { return "pcp-derived-" + b.name + "-" + s.Name }

// JSON renders the dashboard for a data source, as Grafana imports it.
func (b Board) JSON(s Source) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(b.Model(s))
	return out.Bytes(), err
}

// Model renders the dashboard for a data source.
func (b Board) Model(s Source) Model {
	shown, refresh := s.time()
	m := Model{
		UID: b.uid(s), Title: b.title + " (PCP " + s.Name + ")", Description: b.description,
		Tags: []string{"pcp", "pcp-" + s.Name, "derived"}, SchemaVersion: schemaVersion, Editable: true, GraphTooltip: 1,
		Refresh: refresh, Time: shown, Templating: Templating{List: s.variables()},
	}
	y := 0
	for _, r := range b.rows {
		no := false
		m.Panels = append(m.Panels, Panel{
			ID: len(m.Panels) + 1, Type: "row", Title: r.title, GridPos: GridPos{H: 1, W: width, Y: y},
			Collapsed: &no, Panels: &[]Panel{},
		})
		y++
		for i, p := range r.panels {
			rendered := p.render(s)
			rendered.ID = len(m.Panels) + 1
			left, right := width*i/len(r.panels), width*(i+1)/len(r.panels)
			rendered.GridPos = GridPos{H: height, W: right - left, X: left, Y: y}
			m.Panels = append(m.Panels, rendered)
		}
		y += height
	}
	return m
}

func (p panel) render(s Source) Panel {
	rendered := Panel{
		Title: p.title, Description: p.note, Datasource: s.ref(),
		FieldConfig: &FieldConfig{Defaults: p.defaults(), Overrides: []struct{}{}},
	}
	for i, c := range p.metrics {
		rendered.Targets = append(rendered.Targets, Target{
			RefID: string(rune('A' + i)), Expr: s.expr(c.metric), Format: "time_series", LegendFormat: c.legend,
		})
	}
	last := map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
	switch p.kind {
	case bars:
		rendered.Type = "bargauge"
		rendered.Options = map[string]any{"orientation": "horizontal", "displayMode": "gradient", "reduceOptions": last}
	case number:
		rendered.Type = "stat"
		rendered.Options = map[string]any{"colorMode": "value", "graphMode": "area", "reduceOptions": last}
	default:
		rendered.Type = "timeseries"
		rendered.Options = map[string]any{
			"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
		}
	}
	return rendered
}

func (p panel) defaults() Defaults {
	zero := 0.0
	d := Defaults{Unit: p.unit, Min: &zero}
	if p.max > 0 {
		d.Max = &p.max
	}
	switch p.kind {
	case bars, number:
		d.Color = &Color{Mode: "thresholds"}
		d.Thresholds = &Thresholds{Mode: "absolute", Steps: []Step{{Color: "green"}}}
		for i, color := range [...]string{"orange", "red"} {
			if at := p.alarm[i]; at > 0 {
				d.Thresholds.Steps = append(d.Thresholds.Steps, Step{Color: color, Value: &at})
			}
		}
	case stack:
		d.Custom = map[string]any{"stacking": map[string]any{"mode": "normal", "group": "A"}, "fillOpacity": 60}
	default:
		d.Custom = map[string]any{"fillOpacity": 10}
	}
	if p.unit == unitScore {
		two := 2
		d.Decimals = &two
	}
	return d
}

// Units of Grafana.
const (
	unitScore    = "none"
	unitPercent  = "percent"
	unitNumber   = "short"
	unitMillisec = "ms"
	unitBytes    = "bytes"
	unitKbytes   = "kbytes"
	unitBytesSec = "binBps"
	unitKbyteSec = "KiBs"
	unitRequests = "iops"
	unitPackets  = "pps"
	unitPerSec   = "cps"
)
