package dashboards

// schemaVersion is the version of Grafana's dashboard model that these types are of: Grafana 10 and later read it.
const schemaVersion = 39

// Model is a dashboard as Grafana imports it.
type Model struct {
	UID           string     `json:"uid"` // at most 40 characters; links and updates go by it
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	GraphTooltip  int        `json:"graphTooltip"` // 1: all panels show the same moment
	Refresh       string     `json:"refresh"`
	Time          TimeRange  `json:"time"`
	Templating    Templating `json:"templating"`
	Panels        []Panel    `json:"panels"`
}

// TimeRange is what a dashboard shows when it is opened, in Grafana's words: "now-5m".
type TimeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Templating has the variables of a dashboard.
type Templating struct {
	List []Variable `json:"list"`
}

// Variable is a list that the user chooses from.
type Variable struct {
	Name       string         `json:"name"`
	Label      string         `json:"label"`
	Type       string         `json:"type"` // "datasource" or "query"
	Datasource *DataSourceRef `json:"datasource,omitempty"`
	Query      string         `json:"query"`
	Refresh    int            `json:"refresh"` // 1: when the dashboard is opened
	Sort       int            `json:"sort,omitempty"`
}

// DataSourceRef says where values come from.
type DataSourceRef struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Panel is a picture, or the head of a row of them.
type Panel struct {
	ID          int            `json:"id"`
	Type        string         `json:"type"` // "row", "timeseries", "bargauge" or "stat"
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	GridPos     GridPos        `json:"gridPos"`
	Datasource  *DataSourceRef `json:"datasource,omitempty"`
	Targets     []Target       `json:"targets,omitempty"`
	FieldConfig *FieldConfig   `json:"fieldConfig,omitempty"`
	Options     map[string]any `json:"options,omitempty"`
	Collapsed   *bool          `json:"collapsed,omitempty"` // rows have to have it, and panels in them
	Panels      *[]Panel       `json:"panels,omitempty"`
}

// GridPos is the place of a panel: a dashboard is 24 wide, a unit of height is 30 pixels.
type GridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// Target is a query of grafana-pcp.
type Target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	Format       string `json:"format"`
	LegendFormat string `json:"legendFormat"`
}

// FieldConfig says how values look.
type FieldConfig struct {
	Defaults  Defaults   `json:"defaults"`
	Overrides []struct{} `json:"overrides"`
}

// Defaults hold for every value of a panel.
type Defaults struct {
	Unit       string         `json:"unit"`
	Decimals   *int           `json:"decimals,omitempty"`
	Min        *float64       `json:"min,omitempty"`
	Max        *float64       `json:"max,omitempty"`
	Color      *Color         `json:"color,omitempty"`
	Thresholds *Thresholds    `json:"thresholds,omitempty"`
	Custom     map[string]any `json:"custom,omitempty"`
}

// Color is how a value gets its colour.
type Color struct {
	Mode string `json:"mode"`
}

// Thresholds are the values at which a colour begins.
type Thresholds struct {
	Mode  string `json:"mode"`
	Steps []Step `json:"steps"`
}

// Step is one of them; the first has no value.
type Step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}
